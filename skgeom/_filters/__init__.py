"""Linear filters that separate classes: SQFA, its variants, and AMA-Gauss."""
