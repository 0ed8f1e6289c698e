"""Linear filters that separate classes: SQFA, SecondMomentSQFA and AMAGauss."""
