internal import HTTPTypes
internal import Hummingbird

/// What a request for a file makes depend on the state in which the client knows it (RFC 9110, 13).
struct Preconditions {
    enum Outcome {
        case met
        /// The client has what it asks for.
        case notModified
        /// The file is not the one that the client means.
        case failed
    }

    private let request: Request
    /// The strong tag, in its quotes.
    private let tag: String
    private let lastModified: Int64

    init(_ request: Request, tag: String, lastModified: Int64) {
        self.request = request
        self.tag = tag
        self.lastModified = lastModified
    }

    /// Weighed in the order of 13.2.2: tags beat dates.
    var outcome: Outcome {
        if let tags = tags(.ifMatch) {
            if !tags.contains(where: { $0 == "*" || $0 == tag }) { return .failed }
        } else if let date = date(.ifUnmodifiedSince), lastModified > date {
            return .failed
        }
        if let tags = tags(.ifNoneMatch) {
            // Weak tags will do: what is compared is a copy that the client holds whole.
            let isHeld = tags.contains { $0 == "*" || $0 == tag || $0 == "W/" + tag }
            return isHeld ? .notModified : .met
        }
        if let date = date(.ifModifiedSince), lastModified <= date { return .notModified }
        return .met
    }

    /// Whether a part may be sent: the client holds other parts of the same file (13.1.5).
    var allowsPart: Bool {
        let values = request.headers[values: .ifRange]
        guard let value = values.first else { return true }
        guard values.count == 1 else { return false }
        // Parts are put together byte by byte: a weak tag is none. A date must be the very one.
        return value.hasPrefix("\"") ? value == tag : HTTPDate.seconds(value) == lastModified
    }

    private func date(_ name: HTTPField.Name) -> Int64? {
        let values = request.headers[values: name]
        return values.count == 1 ? values.first.flatMap(HTTPDate.seconds) : nil
    }

    /// The members of a list of tags, which may have commas within their quotes.
    private func tags(_ name: HTTPField.Name) -> [Substring]? {
        let values = request.headers[values: name]
        guard !values.isEmpty else { return nil }
        var tags: [Substring] = []
        for value in values {
            var isQuoted = false
            for part in value.split(whereSeparator: { character in
                if character == "\"" { isQuoted.toggle() }
                return !isQuoted && (character == "," || character == " " || character == "\t")
            }) {
                tags.append(part)
            }
        }
        return tags
    }
}
