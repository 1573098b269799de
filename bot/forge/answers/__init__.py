"""The forge's nouns as GitHub's JSON; fields we keep no state for are filled from the description afterwards."""
