/// A small badge beside a field for an index that it has or lacks.
struct Pill: ViewModel {
    let text: String
    /// `has` or `lacks`.
    let tone: String
    let explanation: String
}
