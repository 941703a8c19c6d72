internal import Console
internal import Traffic

/// A warning about a likely mistake in a client, with a recommendation.
struct RequestRemark: ViewModel {
    let word: String
    let sentence: String
    /// The number of occurrences on the page; `nil` for a single request.
    let count: String?

    init(_ smell: RequestSmell, count: Int? = nil) {
        word = smell.title
        sentence = smell.sentence
        self.count = count.map { $0 == 1 ? "once here" : "\(Digits.grouped($0)) times here" }
    }

    /// The distinct warnings of some requests.
    static func all(on requests: [ServedRequest]) -> [RequestRemark] {
        RequestSmell.allCases.compactMap { smell in
            let count = requests.count { $0.smells.contains(smell) }
            return count == 0 ? nil : RequestRemark(smell, count: count)
        }
    }
}
