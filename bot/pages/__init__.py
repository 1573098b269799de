"""The dashboard, as Flask blueprints."""
