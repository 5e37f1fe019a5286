"""The documentation site: pages generated from the catalogue, the course as a book, and Sphinx over both.

``python -m tools.site`` builds it into site/. The text and the configuration are in docs/.
"""

#: The environment variable that names the folder for the pages of the notebooks' Explorers.
EXPLORERS = "PTXLAB_SITE_EXPLORERS"
