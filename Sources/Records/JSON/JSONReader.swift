/// Reads JSON text (RFC 8259) strictly: UTF-8 only, no trailing text, no duplicate member names, bounded depth.
public struct JSONReader {
    /// The maximum nesting depth. The limit protects the stack from malicious requests.
    public static let depthLimit = 64

    /// Decodes a whole text.
    /// - Throws: `JSONError` if the text is not valid JSON.
    public static func value(of text: some Collection<UInt8>) throws(JSONError) -> JSONValue {
        let contiguous = text.withContiguousStorageIfAvailable { bytes in
            Result { () throws(JSONError) in try value(in: bytes) }
        }
        if let contiguous { return try contiguous.get() }
        let copy = Array(text)
        return try copy.withUnsafeBufferPointer { bytes in
            Result { () throws(JSONError) in try value(in: bytes) }
        }.get()
    }

    /// Decodes a whole text.
    /// - Throws: `JSONError` if the text is not valid JSON.
    public static func value(of text: String) throws(JSONError) -> JSONValue {
        try value(of: Array(text.utf8))
    }

    private static func value(in bytes: UnsafeBufferPointer<UInt8>) throws(JSONError) -> JSONValue {
        var scanner = JSONScanner(bytes)
        let value = try scanner.value(depth: 0)
        try scanner.end()
        return value
    }

    /// The members of an object as undecoded slices of its text. For example, `desiredKeys` copies these slices.
    ///
    /// Skips over values without validation: use it only for text that Skylight wrote.
    /// - Parameter names: the members to return; `nil` for all. The text after the last one is not read.
    /// - Throws: `JSONError` if the text is not an object, or has a duplicate member.
    public static func memberSlices(
        of text: ArraySlice<UInt8>, named names: Set<Name>? = nil
    ) throws(JSONError) -> [(name: Name, value: ArraySlice<UInt8>)] {
        let ranges = text.withUnsafeBufferPointer { bytes in
            Result { () throws(JSONError) in
                var scanner = JSONScanner(bytes)
                return try scanner.memberRanges(named: names)
            }
        }
        return try ranges.get().map { name, range in
            (name, text[(text.startIndex + range.lowerBound)..<(text.startIndex + range.upperBound)])
        }
    }

    /// Where the value of a member is in the text of an object; `nil` if there is no such member.
    ///
    /// Skips over values without validation: use it only for text that Skylight wrote.
    /// - Throws: `JSONError` if the text is not an object.
    static func memberRange(
        named name: Name, in text: UnsafeBufferPointer<UInt8>
    ) throws(JSONError) -> Range<Int>? {
        var scanner = JSONScanner(text)
        return try scanner.memberRanges(named: CollectionOfOne(name)).first?.1
    }
}

extension JSONReader {
    /// The elements of an array as undecoded slices of its text.
    ///
    /// Skips over values without validation: use it only for text that Skylight wrote.
    /// - Throws: `JSONError` if the text is not an array.
    public static func elementSlices(of text: ArraySlice<UInt8>) throws(JSONError) -> [ArraySlice<UInt8>] {
        let ranges = text.withUnsafeBufferPointer { bytes in
            Result { () throws(JSONError) in
                var scanner = JSONScanner(bytes)
                return try scanner.elementRanges()
            }
        }
        return try ranges.get().map { text[(text.startIndex + $0.lowerBound)..<(text.startIndex + $0.upperBound)] }
    }
}

/// A scanner at a position in a text.
private struct JSONScanner {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    // MARK: Structure

    mutating func value(depth: Int) throws(JSONError) -> JSONValue {
        skipWhitespace()
        switch try peek() {
        case UInt8(ascii: "{"): return .object(try object(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try array(depth: depth + 1))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        default: throw failure(.unexpectedCharacter)
        }
    }

    mutating func end() throws(JSONError) {
        skipWhitespace()
        if position != bytes.count { throw failure(.trailingText) }
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSONObject {
        try checkDepth(depth)
        position += 1
        var members: [JSONObject.Member] = []
        // A few names are compared pairwise. A set is faster only for many.
        var seen: Set<Name> = []
        skipWhitespace()
        if try consume(UInt8(ascii: "}")) { return JSONObject() }
        repeat {
            skipWhitespace()
            let start = position
            guard try peek() == UInt8(ascii: "\"") else { throw failure(.unexpectedCharacter) }
            let name = Name(try string())
            if members.count == 16 { seen = Set(members.map(\.name)) }
            let isDuplicate = members.count < 16 ? members.contains { $0.name == name } : !seen.insert(name).inserted
            if isDuplicate { throw JSONError(problem: .duplicateName(name), offset: start) }
            skipWhitespace()
            guard try consume(UInt8(ascii: ":")) else { throw failure(.unexpectedCharacter) }
            members.append(JSONObject.Member(name: name, value: try value(depth: depth)))
            skipWhitespace()
        } while try consume(UInt8(ascii: ","))
        guard try consume(UInt8(ascii: "}")) else { throw failure(.unexpectedCharacter) }
        return JSONObject(members)
    }

    private mutating func array(depth: Int) throws(JSONError) -> [JSONValue] {
        try checkDepth(depth)
        position += 1
        var elements: [JSONValue] = []
        skipWhitespace()
        if try consume(UInt8(ascii: "]")) { return [] }
        repeat {
            elements.append(try value(depth: depth))
            skipWhitespace()
        } while try consume(UInt8(ascii: ","))
        guard try consume(UInt8(ascii: "]")) else { throw failure(.unexpectedCharacter) }
        return elements
    }

    private func checkDepth(_ depth: Int) throws(JSONError) {
        if depth > JSONReader.depthLimit { throw failure(.tooDeep(limit: JSONReader.depthLimit)) }
    }

    // MARK: Scalars

    private mutating func literal(_ word: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
        for offset in 0..<word.utf8CodeUnitCount {
            guard position < bytes.count else { throw failure(.unexpectedEnd) }
            guard bytes[position] == word.utf8Start[offset] else { throw failure(.unexpectedCharacter) }
            position += 1
        }
        return value
    }

    private mutating func number() throws(JSONError) -> JSONValue {
        let start = position
        var isInteger = true
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        if try peek() == UInt8(ascii: "0") { position += 1 } else { try digits() }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            isInteger = false
            position += 1
            try digits()
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            position += 1
            if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
                position += 1
            }
            try digits()
        }
        if position < bytes.count, isDigit(bytes[position]) { throw failure(.invalidNumber) }
        let text = String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<position]), as: UTF8.self)
        if isInteger, let integer = Int64(text) { return .integer(integer) }
        guard let double = Double(text), double.isFinite else {
            throw JSONError(problem: .invalidNumber, offset: start)
        }
        return .double(double)
    }

    private mutating func digits() throws(JSONError) {
        guard try isDigit(peek()) else { throw failure(.invalidNumber) }
        while position < bytes.count, isDigit(bytes[position]) { position += 1 }
    }

    private func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }

    private mutating func string() throws(JSONError) -> String {
        let start = position
        position += 1
        let first = position
        var bits: UInt8 = 0
        while position < bytes.count, bytes[position] != UInt8(ascii: "\""), bytes[position] != UInt8(ascii: "\\"),
            bytes[position] >= 0x20
        {
            bits |= bytes[position]
            position += 1
        }
        if try peek() == UInt8(ascii: "\"") {
            // Strings without escapes, which are most strings, are copied at once.
            let plain = UnsafeBufferPointer(rebasing: bytes[first..<position])
            position += 1
            // ASCII needs no validation, which takes longer than all else here.
            return bits < 0x80 ? String(decoding: plain, as: UTF8.self) : try validated(plain, start: start)
        }
        var decoded = Array(bytes[first..<position])
        while true {
            let byte = try peek()
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                return try decoded.withUnsafeBufferPointer { text in
                    Result { () throws(JSONError) in try validated(text, start: start) }
                }.get()
            case UInt8(ascii: "\\"): try escape(into: &decoded, start: start)
            case 0..<0x20: throw JSONError(problem: .invalidString, offset: position - 1)
            default: decoded.append(byte)
            }
        }
    }

    private func validated(_ text: UnsafeBufferPointer<UInt8>, start: Int) throws(JSONError) -> String {
        guard let string = String(validating: text, as: UTF8.self) else {
            throw JSONError(problem: .invalidString, offset: start)
        }
        return string
    }

    private mutating func escape(into decoded: inout [UInt8], start: Int) throws(JSONError) {
        let byte = try peek()
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): decoded.append(byte)
        case UInt8(ascii: "b"): decoded.append(0x08)
        case UInt8(ascii: "f"): decoded.append(0x0C)
        case UInt8(ascii: "n"): decoded.append(0x0A)
        case UInt8(ascii: "r"): decoded.append(0x0D)
        case UInt8(ascii: "t"): decoded.append(0x09)
        case UInt8(ascii: "u"):
            let unit = try hexadecimalUnit()
            if let scalar = Unicode.Scalar(UInt32(unit)) {
                decoded.append(contentsOf: String(Character(scalar)).utf8)
                return
            }
            guard unit < 0xDC00, try consume(UInt8(ascii: "\\")), try consume(UInt8(ascii: "u")) else {
                throw JSONError(problem: .invalidString, offset: start)
            }
            let low = try hexadecimalUnit()
            guard (0xDC00...0xDFFF).contains(low),
                let scalar = Unicode.Scalar(0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(low) - 0xDC00))
            else { throw JSONError(problem: .invalidString, offset: start) }
            decoded.append(contentsOf: String(Character(scalar)).utf8)
        default: throw JSONError(problem: .unexpectedCharacter, offset: position - 1)
        }
    }

    private mutating func hexadecimalUnit() throws(JSONError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            let byte = try peek()
            guard let digit = Hexadecimal.value(of: byte) else { throw failure(.unexpectedCharacter) }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }

    // MARK: Slices without decoding

    mutating func memberRanges(
        named names: (some Collection<Name>)?
    ) throws(JSONError) -> [(Name, Range<Int>)] {
        skipWhitespace()
        guard try consume(UInt8(ascii: "{")) else { throw failure(.unexpectedCharacter) }
        var ranges: [(Name, Range<Int>)] = []
        var highest: Name?
        skipWhitespace()
        if try consume(UInt8(ascii: "}")) {
            try end()
            return []
        }
        repeat {
            skipWhitespace()
            let nameStart = position
            guard try peek() == UInt8(ascii: "\"") else { throw failure(.unexpectedCharacter) }
            let name = try name(among: names)
            // Stored names are sorted, so a name rarely has to be compared with all names before it.
            if let name, let last = highest, last >= name {
                if ranges.contains(where: { $0.0 == name }) {
                    throw JSONError(problem: .duplicateName(name), offset: nameStart)
                }
            } else if let name {
                highest = name
            }
            skipWhitespace()
            guard try consume(UInt8(ascii: ":")) else { throw failure(.unexpectedCharacter) }
            skipWhitespace()
            let start = position
            try skipValue()
            if let name { ranges.append((name, start..<position)) }
            if ranges.count == names?.count { return ranges }
            skipWhitespace()
        } while try consume(UInt8(ascii: ","))
        guard try consume(UInt8(ascii: "}")) else { throw failure(.unexpectedCharacter) }
        try end()
        return ranges
    }

    /// The name of a member; `nil` if it is not requested. Compares the bytes of most names without decoding them.
    private mutating func name(among names: (some Collection<Name>)?) throws(JSONError) -> Name? {
        guard let names else { return Name(try string()) }
        let start = position
        try skipValue()
        let text = UnsafeBufferPointer(rebasing: bytes[(start + 1)..<(position - 1)])
        guard text.contains(UInt8(ascii: "\\")) else { return names.first { $0.isSpelled(text) } }
        position = start
        let name = Name(try string())
        return names.contains(name) ? name : nil
    }

    mutating func elementRanges() throws(JSONError) -> [Range<Int>] {
        skipWhitespace()
        guard try consume(UInt8(ascii: "[")) else { throw failure(.unexpectedCharacter) }
        var ranges: [Range<Int>] = []
        skipWhitespace()
        if try consume(UInt8(ascii: "]")) { return [] }
        repeat {
            skipWhitespace()
            let start = position
            try skipValue()
            ranges.append(start..<position)
            skipWhitespace()
        } while try consume(UInt8(ascii: ","))
        return ranges
    }

    private mutating func skipValue() throws(JSONError) {
        var depth = 0
        repeat {
            switch try peek() {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                position += 1
            case UInt8(ascii: "\""):
                position += 1
                while try peek() != UInt8(ascii: "\"") { position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1 }
                position += 1
            default:
                position += 1
                guard depth == 0 else { continue }
                while position < bytes.count, !Self.endsScalar(bytes[position]) { position += 1 }
            }
        } while depth > 0
    }

    private static func endsScalar(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
    }

    // MARK: Bytes

    private mutating func skipWhitespace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    private func peek() throws(JSONError) -> UInt8 {
        guard position < bytes.count else { throw failure(.unexpectedEnd) }
        return bytes[position]
    }

    private mutating func consume(_ byte: UInt8) throws(JSONError) -> Bool {
        guard try peek() == byte else { return false }
        position += 1
        return true
    }

    private func failure(_ problem: JSONError.Problem) -> JSONError {
        JSONError(problem: problem, offset: position)
    }
}

// MARK: - Errors

/// The reason why Skylight does not accept a text as JSON, and the position of the error.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    /// An error in a text.
    public enum Problem: Sendable, Hashable {
        /// The text ended before the value did.
        case unexpectedEnd
        /// A byte that is invalid at its position.
        case unexpectedCharacter
        /// Text after the end of the value.
        case trailingText
        /// Bytes that are not UTF-8, or an escape of half a surrogate pair.
        case invalidString
        /// A number outside the range of a 64-bit float, or with invalid syntax.
        case invalidNumber
        /// Arrays and objects nested deeper than the limit.
        case tooDeep(limit: Int)
        /// An object with a duplicate member name, which would be ambiguous.
        case duplicateName(Name)
    }

    /// The error at ``offset``.
    public let problem: Problem
    /// The byte at which reading stopped, counted from 0.
    public let offset: Int

    public var description: String {
        let what =
            switch problem {
            case .unexpectedEnd: "the text ends in the middle of a value"
            case .unexpectedCharacter: "unexpected character"
            case .trailingText: "text after the end of the value"
            case .invalidString: "a string that is not valid Unicode"
            case .invalidNumber: "a number that is malformed or out of range"
            case .tooDeep(let limit): "nested more than \(limit) levels deep"
            case .duplicateName(let name): "the member '\(name)' appears twice in one object"
            }
        return "\(what), at byte \(offset)"
    }
}
