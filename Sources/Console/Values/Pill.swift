/// A small badge beside a field for an index that it has or lacks.
package struct Pill: ViewModel {
    package let text: String
    /// `has` or `lacks`.
    package let tone: String
    package let explanation: String

    package init(text: String, tone: String, explanation: String) {
        (self.text, self.tone, self.explanation) = (text, tone, explanation)
    }
}
