"""The edges: GitHub, store, queue, rendering."""
