"""Pure rules: events, commands, configuration, policy, plan, statistics, verdict, report."""
