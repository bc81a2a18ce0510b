"""Front end for clients of the Agent Client Protocol, such as Zed and JetBrains IDEs."""
