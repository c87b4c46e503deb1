"""Report: the notebooks run by papermill for one or several rewards, and the pages made of them."""
