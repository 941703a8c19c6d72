/// The answer that a page shows, as files.
struct ResultFiles: ViewModel {
    struct File: ViewModel {
        /// `JSON`.
        let format: String
        /// What the page shows.
        let page: String
        /// All pages at once; `nil` where the page shows everything.
        let all: String?
    }

    let files: [File]

    /// - Parameters:
    ///   - page: the page's name, to which the format's ending is put.
    ///   - all: the parameters of the whole answer; `nil` where the page shows everything.
    init(to page: String, _ parameters: [(name: String, value: String)], all: [(name: String, value: String)]? = nil, visit: Visit) {
        files = ResultFormat.allCases.map { format in
            let file = "\(page).\(format.rawValue)"
            return File(
                format: format.label, page: visit.place.link(file, parameters), all: all.map { visit.place.link(file, $0 + [("all", "1")]) })
        }
    }
}
