internal import HTTPTypes
internal import Hummingbird
internal import Text

/// The conditional headers of a file request (RFC 9110, 13).
struct Preconditions {
    enum Outcome {
        case met
        /// The client already has the current file.
        case notModified
        /// The client means another version of the file.
        case failed
    }

    private let request: Request
    /// The strong entity tag, in quotes.
    private let tag: String
    private let lastModified: Int64

    init(_ request: Request, tag: String, lastModified: Int64) {
        self.request = request
        self.tag = tag
        self.lastModified = lastModified
    }

    /// Evaluated in the order of 13.2.2: entity tags take precedence over dates.
    var outcome: Outcome {
        if let tags = tags(.ifMatch) {
            if !tags.contains(where: { $0 == "*" || $0 == tag }) { return .failed }
        } else if let date = date(.ifUnmodifiedSince), lastModified > date {
            return .failed
        }
        if let tags = tags(.ifNoneMatch) {
            // Weak tags suffice, because the client compares a complete copy.
            let isHeld = tags.contains { $0 == "*" || $0 == tag || $0 == "W/" + tag }
            return isHeld ? .notModified : .met
        }
        if let date = date(.ifModifiedSince), lastModified <= date { return .notModified }
        return .met
    }

    /// True if a range may be sent, because the client has other ranges of the same file (13.1.5).
    var allowsPart: Bool {
        let values = request.headers[values: .ifRange]
        guard let value = values.first else { return true }
        guard values.count == 1 else { return false }
        // Ranges are combined byte by byte, so a weak tag never matches, and a date must be equal.
        return value.hasPrefix("\"") ? value == tag : HTTPDate.seconds(value) == lastModified
    }

    /// True if the client names this form by its entity tag, as the one of which it holds a part: in `If-Range`, or in
    /// `If-Match`, as some download managers do.
    var continuesDownload: Bool {
        let values = request.headers[values: .ifRange]
        guard values.isEmpty else { return values.count == 1 && values.first == tag }
        return tags(.ifMatch)?.contains { $0 == tag } ?? false
    }

    private func date(_ name: HTTPField.Name) -> Int64? {
        let values = request.headers[values: name]
        return values.count == 1 ? values.first.flatMap(HTTPDate.seconds) : nil
    }

    /// The entity tags of a list. A quoted tag may contain commas.
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
