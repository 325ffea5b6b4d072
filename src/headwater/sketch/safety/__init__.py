"""When a sketch gives the right answer: the proof or the refusal, decided from the plan and facts about data."""
