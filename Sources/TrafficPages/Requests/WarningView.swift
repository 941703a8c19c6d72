internal import Console
internal import Traffic

/// A warning about a likely mistake in a client, or another remarkable effect of a request, with a recommendation.
struct WarningView: ViewModel {
    let word: String
    let sentence: String
    /// The number of occurrences on the page; `nil` for a single request.
    let count: String?
    /// The names that the request's mistake is about.
    let names: String?
    /// Apple's page about it; `nil` for what is no mistake.
    let reference: String?

    init(word: String, sentence: String, count: String?, names: String? = nil, reference: String? = nil) {
        (self.word, self.sentence, self.count, self.names, self.reference) = (word, sentence, count, names, reference)
    }

    init(_ warning: RequestWarning, count: Int? = nil, names: String? = nil) {
        self.init(
            word: warning.title, sentence: warning.sentence, count: count.map { $0 == 1 ? "once on this page" : "\(Digits.grouped($0)) times on this page" },
            names: names, reference: warning.reference)
    }

    /// The distinct warnings of some requests.
    static func all(on requests: [ServedRequest]) -> [WarningView] {
        RequestWarning.allCases.compactMap { warning in
            let count = requests.count { $0.warnings.contains(warning) }
            return count == 0 ? nil : WarningView(warning, count: count)
        }
    }
}
