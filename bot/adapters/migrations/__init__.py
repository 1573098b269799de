"""Alembic's migrations, inside the package so that an installed kernelgate can upgrade its database."""
