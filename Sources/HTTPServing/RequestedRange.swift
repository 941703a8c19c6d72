internal import HTTPTypes
internal import Hummingbird

/// What part of a file a request asks for (RFC 9110, 14.1.2).
enum RequestedRange: Equatable {
    /// All of it: no part is asked for, or in a form that is to be ignored, or several at once.
    case whole
    /// These bytes: at least one, and all of them there.
    case part(Range<Int64>)
    /// Nothing that is there.
    case unsatisfiable

    init(_ request: Request, size: Int64) {
        // Parts are of the answers to GET alone (14.2).
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
        // Several parts would be sent in an envelope, which hardly anybody reads; all is allowed too.
        default: self = .whole
        }
    }

    /// - Returns: the bytes that each part means, `nil` for a part beyond the end; `nil` for what is malformed or counts in another unit.
    private static func parse(_ value: String, size: Int64) -> [Range<Int64>?]? {
        let halves = value.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2, halves[0].lowercased() == "bytes" else { return nil }
        // Empty elements of a list are to be skipped (5.6.1).
        let parts = halves[1].split(separator: ",").map { $0.trimming(while: { $0 == " " || $0 == "\t" }) }.filter { !$0.isEmpty }
        guard !parts.isEmpty else { return nil }
        var ranges: [Range<Int64>?] = []
        for part in parts {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false)
            guard ends.count == 2, let first = number(ends[0]), let last = number(ends[1]) else { return nil }
            switch (first, last) {
            case (nil, nil):
                return nil
            case (nil, let length?):
                // The last bytes; of an empty file that is nothing, and all of it.
                ranges.append(length == 0 ? nil : max(0, size - length)..<size)
            case (let first?, let last):
                if let last, last < first { return nil }
                ranges.append(first >= size ? nil : first..<min(last ?? .max, size - 1) + 1)
            }
        }
        return ranges
    }

    /// - Returns: `.some(nil)` where nothing stands, `nil` for what is no number. A number too large to be held is the largest.
    private static func number(_ text: Substring) -> Int64?? {
        if text.isEmpty { return .some(nil) }
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return Int64(text) ?? .max
    }
}

extension Substring {
    fileprivate func trimming(while isTrimmed: (Character) -> Bool) -> Substring {
        var text = drop(while: isTrimmed)
        while let last = text.last, isTrimmed(last) { text.removeLast() }
        return text
    }
}
