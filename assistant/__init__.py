"""The application: the only package that knows all the others."""
