internal import Accounts
package import Console
internal import Foundation
internal import RecordStore
internal import Records

/// The page Key-value store: the keys of a user, the room that they take, and a form that sets one.
package struct KeyValuesView: Page {
    package static let template = "keyvalues"
    package static let tab = Tab.keyvalues
    /// The maximum number of keys on a page.
    private static let limit = 200

    struct Row: ViewModel {
        let key: String
        let kind: String
        let value: ValueView
        let size: String
        let modified: ValueView
        /// `nil` for a key or value that a form can't hold.
        let edit: String?
        /// `nil` for a key that a form can't hold.
        let remove: String?
    }

    /// How much of a limit is used.
    struct Gauge: ViewModel {
        let label: String
        let used: String
        let maximum: String
        let text: String
    }

    package let title: String
    let complaint: PageError?
    let owner: String
    let gauges: [Gauge]
    let rows: [Row]
    let action: String
    /// The key of the form if it is there already; `nil` for a new one, which has an input for it.
    let savedKey: String?
    let newKey: String
    let kinds: [Choice]
    let text: String
    /// The way back from a key to all of them.
    let back: String?
    let next: String?
    let count: String
    let milliseconds: String
}

extension KeyValuesView {
    package static func load(_ visit: Visit) async throws -> KeyValuesView { try await page(nil, visit) }

    /// Sets a key, or shows the form again with what is wrong.
    package static func submit(_ visit: Visit) async throws -> Answer {
        let form = KeyValueForm(visit.fields)
        do {
            try await modify(form.operation(), visit)
            return .redirect(visit.place.link(Tab.keyvalues.rawValue, [Notice.keyValueSet.parameter]))
        } catch let error as RecordError {
            return .page(try await page(form, visit, complaint: PageError(error)))
        }
    }

    package static func confirmRemoval(_ visit: Visit) throws -> ConfirmationView {
        let key = visit.fields["key"] ?? ""
        return ConfirmationView(
            on: .keyvalues, title: "Delete the key \(key)?",
            lines: ["All devices of \(visit.people.actor.displayName) lose its value with their next synchronization."],
            action: visit.place.link("keyvalues/remove"), fields: [Frame.Hidden(name: "key", value: key)],
            button: "Delete the key",
            cancel: visit.place.link(Tab.keyvalues.rawValue))
    }

    package static func remove(_ visit: Visit) async throws -> String {
        try await modify(.remove(Name(KeyValueForm.key(visit.fields))), visit)
        return visit.place.link(Tab.keyvalues.rawValue, [Notice.keyValueRemoved.parameter])
    }

    private static func modify(_ operation: KeyValueOperation, _ visit: Visit) async throws {
        let database = try await visit.privateDatabase()
        _ = try await visit.measure { try await database.require(.keepKeyValues).modifyKeyValues([operation]) }
    }

    /// - Parameter sent: the form that was refused; `nil` for that of the address.
    private static func page(_ sent: KeyValueForm?, _ visit: Visit, complaint: PageError? = nil) async throws
        -> KeyValuesView
    {
        let place = visit.place
        let database = try await visit.privateDatabase()
        let kept = try await visit.measure { try await database.require(.keepKeyValues).keyValues(since: nil) }
        let changes = kept.changes.sorted { $0.key < $1.key }
        let start = visit.fields.number("from", in: 0...changes.count) ?? 0
        let shown = changes[start...].prefix(limit)
        let asked = visit.fields["key"].map { Name($0) }
        let form = sent ?? changes.first { $0.key == asked }.flatMap { KeyValueForm($0) } ?? KeyValueForm()
        return KeyValuesView(
            title: form.isThere ? "Key \(form.key)" : "Key-value store", complaint: complaint,
            owner: "\(visit.people.actor.displayName), \(place.address.environment.rawValue)",
            gauges: [
                Gauge(
                    label: "Bytes used", used: String(kept.usage.bytes), maximum: String(KeyValueLimits.bytes),
                    text: "\(Digits.count(kept.usage.bytes, "byte")) of \(Digits.bytes(Int64(KeyValueLimits.bytes)))"),
                Gauge(
                    label: "Keys used", used: String(kept.usage.keys), maximum: String(KeyValueLimits.keys),
                    text: "\(Digits.grouped(kept.usage.keys)) of \(Digits.count(KeyValueLimits.keys, "key"))"),
            ], rows: shown.compactMap { Row($0, place) }, action: place.link(Tab.keyvalues.rawValue),
            savedKey: form.isThere ? form.key : nil,
            newKey: form.key,
            kinds: PropertyValue.Kind.allCases.map { Choice($0.rawValue, $0.words, isSelected: $0 == form.kind) },
            text: form.text,
            back: form.isThere ? place.link(Tab.keyvalues.rawValue) : nil,
            next: changes.endIndex > shown.endIndex
                ? place.link(Tab.keyvalues.rawValue, [("from", String(shown.endIndex))]) : nil,
            count: Digits.count(changes.count, "key"), milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }
}

extension KeyValuesView.Row {
    /// Maximum number of characters of a value in the table.
    private static let previewLimit = 120

    fileprivate init?(_ change: KeyValueChange, _ place: Place) {
        guard let value = change.value else { return nil }
        key = change.key.string
        kind = value.kind.words
        size = Digits.grouped(value.size)
        modified = ValueView(.time(change.modified))
        switch value {
        case .date(let date): self.value = ValueView(.time(date))
        case .bytes(let bytes): self.value = ValueView(.text(Digits.count(bytes.count, "byte")))
        default:
            let text = value.text
            let preview = text.prefix(Self.previewLimit)
            self.value = ValueView(.code(preview.endIndex < text.endIndex ? "\(preview)…" : text))
        }
        edit = KeyValueForm(change).map { place.link(Tab.keyvalues.rawValue, [("key", $0.key)]) }
        remove = KeyValueForm.holds(key) ? place.link("keyvalues/remove", [("key", key)]) : nil
    }
}

extension Visit {
    /// The private database of the user: a shared one has no key-value store.
    fileprivate func privateDatabase() async throws -> any RecordDatabase {
        if place.address.scope == .private { return database }
        return try await engine.database(place.with { $0.address.scope = .private }.address, as: database.caller)
    }
}

// MARK: - Form

/// The form that sets a key: the key, and the kind and text of its value.
struct KeyValueForm {
    /// Maximum length of a text that the form shows, in bytes.
    private static let textLimit = 100_000

    var key = ""
    var kind = PropertyValue.Kind.string
    var text = ""
    /// True if the key is there already.
    var isThere = false

    init() {}

    init(_ fields: FormFields) {
        key = Self.key(fields)
        kind = fields["kind"].flatMap { PropertyValue.Kind(rawValue: $0) } ?? .string
        text = Self.withoutReturns(fields["value"] ?? "")
        isThere = fields["saved"] != nil
    }

    /// - Returns: `nil` for a value that is too long for a form, or a key or text that a browser would send as another
    ///   one.
    init?(_ change: KeyValueChange) {
        guard let value = change.value, value.size <= Self.textLimit, Self.holds(change.key.string),
            Self.holds(value.text)
        else { return nil }
        (key, kind, text, isThere) = (change.key.string, value.kind, value.text, true)
    }

    /// The key that a form sent.
    static func key(_ fields: FormFields) -> String { withoutReturns(fields["key"] ?? "") }

    /// True if a form sends the text back as it is.
    static func holds(_ text: String) -> Bool { !text.utf8.contains(UInt8(ascii: "\r")) }

    /// Browsers end all lines with CR LF.
    private static func withoutReturns(_ text: String) -> String { text.replacingOccurrences(of: "\r\n", with: "\n") }

    /// - Throws: `RecordError` BAD_REQUEST with what is wrong.
    func operation() throws -> KeyValueOperation { .set(Name(key), try value()) }

    private func value() throws -> PropertyValue {
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
        func needed<Value>(_ expected: String, _ value: Value?) throws -> Value {
            guard let value else {
                throw RecordError(.badRequest, "Not saved: a value of the kind \(kind.words) is \(expected)")
            }
            return value
        }
        switch kind {
        case .string: return .string(text)
        case .bytes: return .bytes(try needed("base64", Base64.bytes(of: trimmed.utf8.filter { $0 > 0x20 })))
        case .bool: return .bool(try needed("true or false", Bool(trimmed.lowercased())))
        case .integer: return .integer(try needed("a whole number", Int64(trimmed)))
        case .double: return .double(try needed("a number", Double(trimmed)))
        case .date: return .date(try needed("a time such as 2026-11-20 18:00", Timestamp(utcText: trimmed)))
        case .array, .dictionary:
            let json = try needed("JSON", try? JSONReader.value(of: trimmed.utf8.map { $0 }))
            return try PropertyValue(
                RequestObject(
                    JSONObject([.init(name: "type", value: .string(kind.rawValue)), .init(name: "value", value: json)]))
            )
        }
    }
}

extension PropertyValue {
    /// The text in the form: of an array or a dictionary, the JSON of its elements with their types.
    var text: String {
        switch self {
        case .string(let string): return string
        case .bytes(let bytes): return Base64.text(of: bytes)
        case .bool(let bool): return bool ? "true" : "false"
        case .integer(let integer): return String(integer)
        case .double(let double): return double.description
        case .date(let date): return date.utcText
        case .array, .dictionary:
            var writer = JSONWriter()
            writer.value(self)
            let object = try? RequestObject(writer.bytes)
            return object?.value("value").map { String(decoding: JSONWriter.bytes(of: $0), as: UTF8.self) } ?? ""
        }
    }
}

extension PropertyValue.Kind {
    /// The kind as property lists name it.
    var words: String {
        switch self {
        case .string: "string"
        case .bytes: "data"
        case .bool: "boolean"
        case .integer: "integer"
        case .double: "double"
        case .date: "date"
        case .array: "array"
        case .dictionary: "dictionary"
        }
    }
}
