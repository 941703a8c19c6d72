internal import Console
internal import JSON
internal import Records

/// A row of a comparison: one field, or one property, of two records.
struct ComparedValue: ViewModel {
    /// The result for a field of both records.
    enum Verdict: String, Sendable {
        case differs
        case onlyHere = "only left"
        case onlyThere = "only right"
        case equal

        /// Differences come first.
        var rank: Int {
            switch self {
            case .differs: 0
            case .onlyHere: 1
            case .onlyThere: 2
            case .equal: 3
            }
        }
    }

    struct Side: ViewModel {
        /// `nil` if the record has no such field.
        let type: String?
        let isEncrypted: Bool
        let value: ValueView
        /// The value split around the differing part; `nil` unless both values are different texts.
        let parts: TextParts?

        static let missing = Side(type: nil, isEncrypted: false, value: .missing, parts: nil)
    }

    let name: String
    let verdict: Verdict
    let left: Side
    let right: Side
    /// A remark on details that the values do not show.
    let note: String?

    func child(named name: String) -> Any? {
        switch name {
        case "name": self.name
        case "words": verdict.rawValue
        case "isEqual": verdict == .equal
        case "left": left
        case "right": right
        case "note": note ?? Absent()
        default: nil
        }
    }

    /// A field of two records. Values are equal if their stored bytes are equal, so strings that look the same can differ.
    init(_ name: Name, _ left: Field?, _ leftValues: ValuePresenter, _ right: Field?, _ rightValues: ValuePresenter) {
        self.name = name.string
        switch (left, right) {
        case (let left?, let right?): verdict = Self.bytes(left) == Self.bytes(right) ? .equal : .differs
        case (nil, _?): verdict = .onlyThere
        default: verdict = .onlyHere
        }
        var parts: (TextParts, TextParts)?
        var note: String?
        if verdict == .differs, case .string(let here)? = left?.value, case .string(let there)? = right?.value {
            parts = TextParts.differing(here, there)
            if here == there { note = "They look the same, but their characters differ: one is composed, the other decomposed." }
        }
        self.note = note
        self.left = Side(left, of: name, leftValues, parts?.0)
        self.right = Side(right, of: name, rightValues, parts?.1)
    }

    /// A property that is not a field.
    init(_ name: String, _ left: ValueView, _ right: ValueView, isEqual: Bool) {
        self.name = name
        verdict = isEqual ? .equal : .differs
        self.left = Side(type: nil, isEncrypted: false, value: left, parts: nil)
        self.right = Side(type: nil, isEncrypted: false, value: right, parts: nil)
        note = nil
    }

    /// The stored bytes of the field.
    private static func bytes(_ field: Field) -> [UInt8] { FieldsText(CollectionOfOne(field)).bytes }
}

extension ComparedValue.Side {
    fileprivate init(_ field: Field?, of name: Name, _ values: ValuePresenter, _ parts: TextParts?) {
        guard let field else {
            self = .missing
            return
        }
        type = field.value.typeLabel
        isEncrypted = field.isEncrypted
        value = values.view(field.value, of: name)
        self.parts = parts
    }
}
