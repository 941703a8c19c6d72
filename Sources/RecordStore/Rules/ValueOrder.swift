internal import Foundation
public import Records

/// The order of field values for sorts, ranges and equality on all engines.
///
/// | type | order |
/// |---|---|
/// | STRING | UTF-8 bytes |
/// | INT64, DOUBLE, TIMESTAMP | number |
/// | BYTES | byte by byte, a prefix first |
/// | REFERENCE | record name |
/// | no value | before every value; so last in a descending sort |
public enum ValueOrder {
    /// Compares two values: -1, 0 or 1. Values of different types never occur in the same field; they compare as
    /// equal.
    public static func compare(_ left: FieldValue?, _ right: FieldValue?) -> Int {
        switch (left, right) {
        case (nil, nil): 0
        case (nil, _): -1
        case (_, nil): 1
        case (.string(let left), .string(let right)): compare(Name(left), Name(right))
        case (.int64(let left), .int64(let right)): compare(left, right)
        case (.double(let left), .double(let right)): compare(left, right)
        case (.timestamp(let left), .timestamp(let right)): compare(left, right)
        case (.reference(let left), .reference(let right)): compare(left.recordName, right.recordName)
        case (.bytes(let left), .bytes(let right)):
            left == right ? 0 : (left.lexicographicallyPrecedes(right) ? -1 : 1)
        default: 0
        }
    }

    private static func compare<Value: Comparable>(_ left: Value, _ right: Value) -> Int {
        left < right ? -1 : (right < left ? 1 : 0)
    }

    /// Equality for EQUALS and the list comparators. References are equal if they name the same record; zones are
    /// compared only if both specify one. Locations are equal if they are the same place, whether written +180° or
    /// -180°.
    static func equal(_ left: FieldValue, _ right: FieldValue) -> Bool {
        switch (left, right) {
        case (.reference(let left), .reference(let right)):
            left.recordName == right.recordName
                && (left.zoneID == nil || right.zoneID == nil || left.zoneID?.zoneName == right.zoneID?.zoneName)
        case (.location(let left), .location(let right)): left.isSamePlace(as: right)
        case (.asset, _), (.list, _): false
        default: left.type == right.type && compare(left, right) == 0
        }
    }
}

// MARK: - Distances

extension Location {
    /// The mean radius of the Earth in metres.
    static let earthRadius = 6_371_008.8

    /// Metres to the antipode, the largest possible distance.
    public static let earthHalfCircumference = earthRadius * .pi

    /// All longitudes of the same place at this latitude, including this one: +180° and -180° are the same meridian.
    /// `nil` at a pole, where all longitudes are equal.
    public var equalLongitudes: [Double]? {
        if abs(latitude) == 90 { return nil }
        return abs(longitude) == 180 ? [180, -180] : [longitude]
    }

    /// True if both denote the same place, even if their coordinates differ, as +180° and -180° do.
    public func isSamePlace(as other: Location) -> Bool {
        latitude == other.latitude
            && (longitude == other.longitude || (equalLongitudes?.contains(other.longitude) ?? true))
    }

    /// Distance in metres along the great circle on a sphere of the Earth's mean radius (haversine formula). Equal
    /// places give bitwise equal distances.
    public func distance(to other: Location) -> Double {
        let radians = Double.pi / 180
        let halfLatitude = (other.latitude - latitude) * radians / 2
        let halfLongitude = Self.degreesBetween(self, other) * radians / 2
        let a =
            sin(halfLatitude) * sin(halfLatitude)
            + cos(latitude * radians) * cos(other.latitude * radians) * sin(halfLongitude) * sin(halfLongitude)
        return 2 * Self.earthRadius * asin(min(1, a.squareRoot()))
    }

    /// Difference in longitude in degrees, the short way around; 0 if one place is a pole.
    private static func degreesBetween(_ left: Location, _ right: Location) -> Double {
        guard let from = left.equalLongitudes?.first, let to = right.equalLongitudes?.first else { return 0 }
        let degrees = abs(from - to)
        return degrees > 180 ? 360 - degrees : degrees
    }
}

// MARK: - Words

/// Splits a text into the words that CONTAINS_ALL_TOKENS and CONTAINS_ANY_TOKENS compare.
///
/// A word is a run of letters, digits and marks. Case and accents are ignored. Chinese characters and Japanese kana,
/// which are written without spaces, are words of their own.
public enum Tokenizer {
    /// The distinct words in order of first appearance.
    public static func tokens(of text: String) -> [String] {
        var words = Words()
        var text = text
        text.withUTF8 { bytes in
            var start = 0
            var isASCII = true
            for index in bytes.indices {
                let byte = bytes[index]
                if byte >= 0x80 {
                    isASCII = false
                } else if !isWordPart(byte), index + 1 == bytes.count || bytes[index + 1] < 0x80 {
                    // The boundary characters don't combine with others, so both sides can be folded separately.
                    words.add(bytes[start..<index], isASCII)
                    (start, isASCII) = (index + 1, true)
                }
            }
            words.add(bytes[start...], isASCII)
        }
        return words.all
    }

    private struct Words {
        var all: [String] = []
        private var seen: Set<Name> = []

        mutating func add(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, _ isASCII: Bool) {
            if bytes.isEmpty { return }
            if isASCII {
                // Between two characters that are not part of a word, an ASCII run is one word. Each of its
                // characters folds to one lowercase character.
                add(
                    String(unsafeUninitializedCapacity: bytes.count) { buffer in
                        for (index, byte) in bytes.enumerated() {
                            buffer[index] = (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
                        }
                        return bytes.count
                    })
            } else {
                addFolded(String(decoding: bytes, as: UTF8.self))
            }
        }

        private mutating func add(_ word: String) {
            if !word.isEmpty, seen.insert(Name(word)).inserted { all.append(word) }
        }

        private mutating func addFolded(_ text: String) {
            let folded = text.folding(
                options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: nil
            )
            .precomposedStringWithCanonicalMapping
            var word = String.UnicodeScalarView()
            func finish(_ word: inout String.UnicodeScalarView, _ words: inout Self) {
                words.add(String(word))
                word = String.UnicodeScalarView()
            }
            for scalar in folded.unicodeScalars {
                if isIdeograph(scalar) {
                    finish(&word, &self)
                    add(String(scalar))
                } else if isWordPart(scalar) {
                    word.append(scalar)
                } else {
                    finish(&word, &self)
                }
            }
            finish(&word, &self)
        }
    }

    /// True for ASCII letters and digits.
    private static func isWordPart(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }

    private static func isWordPart(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
            .letterNumber,
            .otherNumber, .nonspacingMark, .spacingMark, .enclosingMark:
            true
        default: false
        }
    }

    private static func isIdeograph(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isIdeographic || (0x3041...0x30FF).contains(scalar.value)
    }
}
