internal import Console

/// Download links for the answer on a page.
struct ResultFiles: ViewModel {
    struct File: ViewModel {
        /// `JSON`.
        let format: String
        /// The link to the records on the page.
        let page: String
        /// The link to all pages; `nil` if the page shows everything.
        let all: String?
    }

    let files: [File]

    /// - Parameters:
    ///   - page: the name of the page, which the file extension follows.
    ///   - all: the parameters of the whole answer; `nil` if the page shows everything.
    init(to page: String, _ parameters: [(name: String, value: String)], all: [(name: String, value: String)]? = nil, visit: Visit) {
        files = ResultFormat.allCases.map { format in
            let file = "\(page).\(format.rawValue)"
            return File(
                format: format.label, page: visit.place.link(file, parameters), all: all.map { visit.place.link(file, $0 + [("all", "1")]) })
        }
    }
}
