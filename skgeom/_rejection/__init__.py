"""Classification with a reject option."""
