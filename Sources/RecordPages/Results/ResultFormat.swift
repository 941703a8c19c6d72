/// The file format of exported records.
enum ResultFormat: String, Sendable, CaseIterable {
    /// The format of web service answers.
    case json
    /// One record per line, in the format of the web services.
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
