package import Records

/// An API error that a page shows in place of an answer.
package struct Complaint: ViewModel {
    let reason: String
    let code: String
    /// Advice, one sentence per element.
    let advice: [String]

    package init(_ error: RecordError, advice: [String] = []) {
        reason = error.reason
        code = error.code.rawValue
        self.advice = advice
    }
}
