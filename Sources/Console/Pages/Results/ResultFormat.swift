/// How records stand in a file that is made of an answer.
enum ResultFormat: String, Sendable, CaseIterable {
    /// As the web services answer them.
    case json
    /// A record a line, as the web services write it.
    case ndjson
    case csv

    var mediaType: String {
        switch self {
        case .json: "application/json; charset=UTF-8"
        case .ndjson: "application/x-ndjson"
        case .csv: "text/csv; charset=utf-8"
        }
    }

    var label: String { rawValue.uppercased() }
}
