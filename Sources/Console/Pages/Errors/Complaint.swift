internal import Records

/// What the API says to a request that a page shows in place of an answer.
struct Complaint: ViewModel {
    let reason: String
    let code: String
    /// What to do now, sentence by sentence.
    let advice: [String]

    init(_ error: RecordError, advice: [String] = []) {
        reason = error.reason
        code = error.code.rawValue
        self.advice = advice
    }
}
