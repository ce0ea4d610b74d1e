"""The `delightful` command."""
