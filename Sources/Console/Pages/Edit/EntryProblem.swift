/// Why what was typed is no value of its type, and what would be.
struct EntryProblem: Error {
    let reason: String
}
