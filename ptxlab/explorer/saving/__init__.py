"""The Explorer in other forms: Python code, pictures, and a page that needs no kernel."""
