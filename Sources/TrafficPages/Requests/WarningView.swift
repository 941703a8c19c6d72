internal import Console
internal import Traffic

/// A warning about a likely mistake in a client, or another remarkable effect of a request, with a recommendation.
struct WarningView: ViewModel {
    let word: String
    let sentence: String
    /// The number of occurrences on the page; `nil` for a single request.
    let count: String?

    init(word: String, sentence: String, count: String?) { (self.word, self.sentence, self.count) = (word, sentence, count) }

    init(_ warning: RequestWarning, count: Int? = nil) {
        self.init(
            word: warning.title, sentence: warning.sentence, count: count.map { $0 == 1 ? "once on this page" : "\(Digits.grouped($0)) times on this page" })
    }

    /// The distinct warnings of some requests.
    static func all(on requests: [ServedRequest]) -> [WarningView] {
        RequestWarning.allCases.compactMap { warning in
            let count = requests.count { $0.warnings.contains(warning) }
            return count == 0 ? nil : WarningView(warning, count: count)
        }
    }
}
