internal import HTTPTypes
internal import Hummingbird
internal import Text

/// The byte range of a file request (RFC 9110, 14.1.2).
enum RequestedRange: Equatable {
    /// The whole file: the request has no range, one that must be ignored, or several.
    case whole
    /// A non-empty range within the file.
    case part(Range<Int64>)
    /// A range outside the file.
    case unsatisfiable

    init(_ request: Request, size: Int64) {
        // Ranges apply to GET only (14.2).
        guard request.method == .get, case let values = request.headers[values: .range], values.count == 1, let value = values.first,
            let parts = Self.parse(value, size: size)
        else {
            self = .whole
            return
        }
        let satisfiable = parts.compactMap(\.self)
        switch satisfiable.count {
        case 0: self = .unsatisfiable
        case 1 where satisfiable[0].isEmpty: self = .whole
        case 1: self = .part(satisfiable[0])
        // Several ranges would need a multipart answer, which few clients read. The whole file is allowed too.
        default: self = .whole
        }
    }

    /// - Returns: the byte ranges, `nil` for a range beyond the end; `nil` overall if the value is malformed or has another unit.
    private static func parse(_ value: String, size: Int64) -> [Range<Int64>?]? {
        let halves = value.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2, halves[0].lowercased() == "bytes" else { return nil }
        // Empty list elements are skipped (5.6.1).
        let parts = halves[1].split(separator: ",").map(\.trimmingSpaces).filter { !$0.isEmpty }
        guard !parts.isEmpty else { return nil }
        var ranges: [Range<Int64>?] = []
        for part in parts {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false)
            guard ends.count == 2, let first = number(ends[0]), let last = number(ends[1]) else { return nil }
            switch (first, last) {
            case (nil, nil):
                return nil
            case (nil, let length?):
                // The last bytes. For an empty file the range is empty but satisfiable.
                ranges.append(length == 0 ? nil : max(0, size - length)..<size)
            case (let first?, let last):
                if let last, last < first { return nil }
                ranges.append(first >= size ? nil : first..<min(last ?? .max, size - 1) + 1)
            }
        }
        return ranges
    }

    /// - Returns: `.some(nil)` for an empty text, `nil` for an invalid number. A number that is too large becomes the maximum.
    private static func number(_ text: Substring) -> Int64?? {
        if text.isEmpty { return .some(nil) }
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return Int64(text) ?? .max
    }
}
