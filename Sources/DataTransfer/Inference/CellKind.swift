internal import JSON

/// The possible types of a value, before the type of its column is known.
struct CellKind: OptionSet, Sendable, Hashable {
    let rawValue: Int

    init(rawValue: Int) {
        self.rawValue = rawValue
    }

    static let integer = CellKind(rawValue: 1)
    static let decimal = CellKind(rawValue: 2)
    /// An integer without an exact representation as a DOUBLE.
    static let longInteger = CellKind(rawValue: 4)
    static let date = CellKind(rawValue: 8)
    static let text = CellKind(rawValue: 16)
    static let location = CellKind(rawValue: 32)
    /// A location in a text, which stays a text beside others.
    static let coordinates = CellKind(rawValue: 64)

    /// A whole number with an exponent and no sign, such as `1E5`: a number beside fractions, else more likely a code.
    static let exponent = CellKind(rawValue: 128)

    static let numbers: CellKind = [.integer, .decimal, .longInteger, .exponent]

    /// The kind of a scalar.
    /// - Returns: `nil` for an object that is not a location, for an array and for null.
    init?(_ cell: Cell) {
        switch cell {
        case .text(let text):
            switch NumberText(text) {
            case .integer(let integer): self = Self(integer)
            case .decimal: self = NumberText.isLikeCode(text) ? .exponent : .decimal
            case nil: self = DateText.timestamp(of: text) != nil ? .date : CoordinatesText.isExported(text) ? .coordinates : .text
            }
        case .json(.bool): self = .integer
        case .json(.integer(let integer)): self = Self(integer)
        case .json(.double): self = .decimal
        case .json(.string(let text)): self = DateText.timestamp(of: text) == nil ? .text : .date
        case .json(.object(let object)) where object["latitude"] != nil && object["longitude"] != nil: self = .location
        case .json: return nil
        }
    }

    private init(_ integer: Int64) {
        self = Double(exactly: integer) == nil ? .longInteger : .integer
    }
}
