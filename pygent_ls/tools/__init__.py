"""The abilities that the model is offered; each is declared where it is written."""
