internal import JSON

/// A streaming reader for the elements of one JSON array. It finds each element by its brackets and parses it
/// separately, so that memory use is bounded by the largest element, and an invalid element does not affect others.
struct JSONArrayReader {
    /// The size limit of an element, in bytes.
    static let elementLimit = 4 << 20

    private enum State {
        case start, afterElement, end
    }

    private var bytes: ByteReader
    private let path: String
    private var line = 1
    private var state = State.start

    init(_ bytes: ByteReader, path: String) {
        self.bytes = bytes
        self.path = path
    }

    var offset: Int { bytes.offset }

    mutating func next() throws(ImportError) -> RowOutcome? {
        switch state {
        case .start:
            guard let byte = try skipBlanks() else { throw failure("the file is empty; expected an array of objects") }
            guard byte == UInt8(ascii: "[") else {
                let hint = byte == UInt8(ascii: "{") ? "; for NDJSON, with one object in each line, use --format ndjson" : ""
                throw failure("expected an array of objects, which begins with [\(hint)")
            }
            _ = try bytes.next()
            if try skipBlanks() == UInt8(ascii: "]") { return try finish() }
        case .afterElement:
            switch try skipBlanks() {
            case UInt8(ascii: ",")?: _ = try bytes.next()
            case UInt8(ascii: "]")?: return try finish()
            case nil: throw failure("the array is not closed: expected , or ]")
            default: throw failure("expected , or ] after an element of the array")
            }
        case .end: return nil
        }
        guard let byte = try skipBlanks() else { throw failure("the array is not closed: expected an object") }
        if byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]") { throw failure("expected an object before \(Character(Unicode.Scalar(byte)))") }
        state = .afterElement
        let start = line
        return RowOutcome(jsonObject: try element(), line: start)
    }

    /// The text of one element, up to the next comma or bracket.
    private mutating func element() throws(ImportError) -> [UInt8] {
        let start = line
        var text: [UInt8] = []
        var depth = 0
        var isString = false
        while let byte = try bytes.peek() {
            if !isString, depth == 0, byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]") { return text }
            _ = try bytes.next()
            text.append(byte)
            switch byte {
            case UInt8(ascii: "\n"): line += 1
            case UInt8(ascii: "\""): isString.toggle()
            case UInt8(ascii: "\\") where isString:
                if let escaped = try bytes.next() { text.append(escaped) }
            case UInt8(ascii: "{") where !isString, UInt8(ascii: "[") where !isString: depth += 1
            case UInt8(ascii: "}") where !isString, UInt8(ascii: "]") where !isString: depth = max(0, depth - 1)
            default: break
            }
            if text.count > Self.elementLimit {
                throw .unreadable(
                    file: path, line: start, reason: "an element of more than \(Self.elementLimit >> 20) MB; check for an unclosed string or object")
            }
        }
        throw .unreadable(file: path, line: start, reason: "the file ends in the middle of this element")
    }

    private mutating func finish() throws(ImportError) -> RowOutcome? {
        _ = try bytes.next()
        state = .end
        if try skipBlanks() != nil { throw failure("text after the end of the array") }
        return nil
    }

    /// Skips white space and returns the next byte.
    private mutating func skipBlanks() throws(ImportError) -> UInt8? {
        while let byte = try bytes.peek() {
            switch byte {
            case UInt8(ascii: "\n"): line += 1
            case 0x20, 0x09, 0x0D: break
            default: return byte
            }
            _ = try bytes.next()
        }
        return nil
    }

    private func failure(_ reason: String) -> ImportError {
        .unreadable(file: path, line: line, reason: reason)
    }
}
