/// The reason why an input is not a valid value of its type, with a valid format.
struct EntryProblem: Error {
    let reason: String
}
