/// A small mark beside a field: the index it has, or lacks.
struct Pill: ViewModel {
    let text: String
    /// `has` or `lacks`.
    let tone: String
    let explanation: String
}
