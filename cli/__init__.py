"""The command `roamcast`: one thin file a subcommand, heavy imports inside."""
