"""The debugger's page: what it shows of a session, its style sheet, and its widget in a notebook."""
