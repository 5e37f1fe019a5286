"""The quiz: questions about a document, in turn, and how answers are judged."""
