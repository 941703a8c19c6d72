internal import Traffic

/// What gives away a mistake of a client: a few words, and what would be right.
struct RequestRemark: ViewModel {
    let word: String
    let sentence: String
    /// How often it showed on the page; `nil` for one request.
    let count: String?

    init(_ smell: RequestSmell, count: Int? = nil) {
        word = smell.title
        sentence = smell.sentence
        self.count = count.map { $0 == 1 ? "once here" : "\(Digits.grouped($0)) times here" }
    }

    /// The remarks on some requests, each once.
    static func all(on requests: [ServedRequest]) -> [RequestRemark] {
        RequestSmell.allCases.compactMap { smell in
            let count = requests.count { $0.smells.contains(smell) }
            return count == 0 ? nil : RequestRemark(smell, count: count)
        }
    }
}
