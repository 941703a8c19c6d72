internal import Accounts
package import Console
internal import Foundation
internal import RecordStore
internal import Records

/// The page Key-value store: the keys of a user, the room that they take, and a form that sets one.
package enum KeyValuesView {
    /// The maximum number of keys on a page.
    private static let limit = 200
    /// Maximum number of characters of a value in the table.
    private static let previewLimit = 120

    package static func load(_ visit: Visit) async throws -> ComponentPage { try await page(nil, visit) }

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
        -> ComponentPage
    {
        let place = visit.place
        let database = try await visit.privateDatabase()
        let kept = try await visit.measure { try await database.require(.keepKeyValues).keyValues(since: nil) }
        let changes = kept.changes.sorted { $0.key < $1.key }
        let start = visit.fields.number("from", in: 0...changes.count) ?? 0
        let shown = changes[start...].prefix(limit)
        let asked = visit.fields["key"].map { Name($0) }
        let form = sent ?? changes.first { $0.key == asked }.flatMap { KeyValueForm($0) } ?? KeyValueForm()
        let all = place.link(Tab.keyvalues.rawValue)
        let owner: Inline = "\(visit.people.actor.displayName), \(place.address.environment.rawValue)"
        let usage = kept.usage
        return ComponentPage(
            .keyvalues,
            PageHead(
                form.isThere ? "Key \(form.key)" : "Key-value store",
                crumb: form.isThere ? "\(.link("Key-value store", all)) · \(owner)" : owner,
                ["Small settings that all of the user's devices share."]),
            [
                Facts(
                    style: "wide",
                    [
                        Facts.Fact(
                            "Bytes used",
                            "\(Digits.count(usage.bytes, "byte")) of \(Digits.bytes(Int64(KeyValueLimits.bytes))) \(.part(Gauge("Bytes used", used: usage.bytes, of: KeyValueLimits.bytes)))"
                        ),
                        Facts.Fact(
                            "Keys used",
                            "\(Digits.grouped(usage.keys)) of \(Digits.count(KeyValueLimits.keys, "key")) \(.part(Gauge("Keys used", used: usage.keys, of: KeyValueLimits.keys)))"
                        ),
                    ])
            ] + (complaint.map { [Note(refusing: $0)] } ?? []) + [
                Table(
                    "Keys of the store",
                    [
                        "key", "kind", .column("value", "wide"), .number("bytes"), "last change", .actions(),
                    ], shown.compactMap { row($0, place) },
                    nothing: EmptyState("No keys", "A client sets one with keyvalues/modify, or you set one here.")),
                Section("set-key", form.isThere ? "Change the value" : "Set a key", [inputs(form, all)]),
            ],
            foot: PageFooter(
                count: Digits.count(changes.count, "key"),
                next: changes.endIndex > shown.endIndex
                    ? .nextPage(place.link(Tab.keyvalues.rawValue, [("from", String(shown.endIndex))])) : nil))
    }

    private static func row(_ change: KeyValueChange, _ place: Place) -> Table.Row? {
        guard let value = change.value else { return nil }
        let key = change.key.string
        let shown: Inline
        switch value {
        case .date(let date): shown = .time(date)
        case .bytes(let bytes): shown = Inline(Digits.count(bytes.count, "byte"))
        default:
            let text = value.text
            let preview = text.prefix(previewLimit)
            shown = .code(preview.endIndex < text.endIndex ? "\(preview)…" : text)
        }
        return Table.Row([
            // A form can't hold each key and value.
            KeyValueForm(change).map {
                .link(key, place.link(Tab.keyvalues.rawValue, [("key", $0.key)]), style: "mono")
            } ?? Inline(key).styled("mono"),
            Inline(value.kind.words), shown, Inline(Digits.grouped(value.size)), .time(change.modified),
            KeyValueForm.holds(key)
                ? .buttons([.delete(place.link("keyvalues/remove", [("key", key)]), label: "Delete \(key)")]) : "",
        ])
    }

    private static func inputs(_ form: KeyValueForm, _ action: String) -> Form {
        Form(
            .grid, action, hidden: form.isThere ? [Frame.Hidden(name: "saved", value: "1")] : [],
            [
                form.isThere
                    ? FormField(.fixed, "key", "key", value: form.key)
                    : FormField(
                        .code, "key", "key", id: "keyvalue-key", value: form.key, placeholder: "hasData", limit: 64,
                        isRequired: true),
                FormField(
                    .choice(
                        PropertyValue.Kind.allCases.map { Choice($0.rawValue, $0.words, isSelected: $0 == form.kind) }),
                    "kind", "kind", id: "keyvalue-kind"),
                FormField(
                    .area(rows: 3), "value", "value", id: "keyvalue-value", value: form.text,
                    hint:
                        "Data as base64, a date in UTC, an array or a dictionary as JSON whose elements have `type` and `value`."
                ),
            ], button: "Save", buttonStyle: "go")
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
