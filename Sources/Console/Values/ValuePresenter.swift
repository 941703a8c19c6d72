package import AssetStore
package import Records

/// Formats the values of one record: briefly for a table, or in full.
package struct ValuePresenter: Sendable {
    package let place: Place
    /// The zone of the record, which is also the zone of references without a zone.
    package let zoneID: ZoneID
    /// Creates the download links of assets; `nil` if there are none.
    package let links: AssetLinks?
    /// The titles of records that the values refer to; `nil` to show their names.
    package let titles: ReferencedTitles?
    /// True to format values in full.
    package var isFull = false

    package init(
        place: Place, zoneID: ZoneID, links: AssetLinks?, titles: ReferencedTitles? = nil, isFull: Bool = false
    ) {
        self.place = place
        self.zoneID = zoneID
        self.links = links
        self.titles = titles
        self.isFull = isFull
    }

    /// The maximum length of a text in a table, in characters. The user can expand longer ones.
    static let shortLength = 140
    /// The maximum length of an expandable text in a table, in UTF-8 bytes, to limit the page size. The page of the
    /// record has the whole text, folded if it is longer than this.
    static let openedBytes = 4096
    /// The length of the beginning of a folded text, in characters.
    static let foldedLength = 1000
    /// The number of list elements in a table.
    package static let shortCount = 3
    /// The number of bytes to show as hexadecimal digits.
    static let shortBytes = 8
    static let fullBytes = 256
    /// The number of list elements on the page of a record.
    package static let fullCount = 200
    /// The number of list elements on the page of a record that are not folded.
    static let seenCount = 20

    /// - Parameter field: the field of the value.
    package func view(_ value: FieldValue?, of field: Name) -> ValueView {
        guard let value else { return .missing }
        switch value {
        case .string(let text): return view(text)
        case .int64(let integer): return ValueView(.number(String(integer)))
        case .double(let double): return ValueView(.number(double.description))
        case .timestamp(let timestamp): return ValueView(.time(timestamp))
        case .bytes(let bytes): return view(bytes)
        case .location(let location): return view(location)
        case .reference(let reference): return view(reference)
        case .asset(let asset): return view(asset, of: field)
        case .list(let elements, _):
            let shown = elements.prefix(isFull ? Self.fullCount : Self.shortCount).map { view($0, of: field) }
            let more = elements.count - shown.count
            // A table has thousands of values, so that an element for each would make the page slow.
            if !isFull, let text = Self.joined(shown) {
                return ValueView(.text(text), note: more == 0 ? nil : "\(more) more")
            }
            let first = isFull ? Self.seenCount : Self.shortCount
            let note = isFull && elements.count > first ? Digits.count(elements.count, "value") : nil
            return ValueView(
                .list(Array(shown.prefix(first)), folded: Array(shown.dropFirst(first)), more: more), note: note)
        }
    }

    /// Several values as one text; `nil` if there are none, or one of them is more than a text, or has a comma as
    /// coordinates do.
    private static func joined(_ values: [ValueView]) -> String? {
        let texts = values.compactMap { value -> String? in
            switch value.form {
            case .text(let text), .number(let text): value.note == nil ? text : nil
            default: nil
            }
        }
        let isAmbiguous = texts.count > 1 && texts.contains { $0.utf8.contains(UInt8(ascii: ",")) }
        return values.isEmpty || texts.count < values.count || isAmbiguous ? nil : texts.joined(separator: ", ")
    }

    private func view(_ asset: Asset, of field: Name) -> ValueView {
        let size = Digits.bytes(asset.size)
        guard let links else { return ValueView(.text(size)) }
        return ValueView(.asset(asset.shownName(in: field), href: links.downloadURL(of: asset, in: field), size: size))
    }

    private func view(_ bytes: [UInt8]) -> ValueView {
        let shown = bytes.prefix(isFull ? Self.fullBytes : Self.shortBytes)
        let digits = Hexadecimal.text(of: shown, inGroupsOf: 1)
        return ValueView(
            .code(digits + (shown.count < bytes.count ? " …" : "")), note: Digits.bytes(Int64(bytes.count)))
    }

    private func view(_ location: Location) -> ValueView {
        let degrees = "\(Self.degrees(location.latitude)), \(Self.degrees(location.longitude))"
        guard isFull else { return ValueView(.text(degrees)) }
        var parts: [String] = []
        if let accuracy = location.horizontalAccuracy { parts.append("± \(accuracy.description) m") }
        if let altitude = location.altitude { parts.append("altitude \(altitude.description) m") }
        if let accuracy = location.verticalAccuracy { parts.append("± \(accuracy.description) m vertically") }
        if let speed = location.speed { parts.append("speed \(speed.description) m/s") }
        if let course = location.course { parts.append("course \(course.description)°") }
        if let timestamp = location.timestamp { parts.append("at \(timestamp.utcText) UTC") }
        return ValueView(.text(degrees), note: parts.isEmpty ? nil : parts.joined(separator: ", "))
    }

    private func view(_ reference: Reference) -> ValueView {
        let target = reference.zoneID ?? zoneID
        let isElsewhere = !place.isSame(target, zoneID)
        let action = reference.action == .none ? nil : reference.action.rawValue
        let zone = isElsewhere ? "in zone \(target.zoneName)" : nil
        let note = [zone, isFull ? action : nil].compactMap { $0 }.joined(separator: ", ")
        let (name, href) = (reference.recordName.string, place.link(toRecord: reference.recordName, in: target))
        let title = titles?[reference, from: zoneID]
        return ValueView(
            title.map { .record(title: $0, name: name, href: href, hint: action) }
                ?? .link(name, href: href, hint: action), note: note.isEmpty ? nil : note)
    }

    private func view(_ text: String) -> ValueView {
        // Checks the byte count first, because counting characters is slow and no text has more characters than bytes.
        let size = text.utf8.count
        if size <= (isFull ? Self.openedBytes : Self.shortLength) || !isFull && text.count <= Self.shortLength {
            return ValueView(.text(text), note: text.isEmpty ? "empty" : nil)
        }
        if isFull {
            return ValueView(
                .long(text.prefix(Self.foldedLength) + "…", whole: text), note: "show all \(Digits.bytes(Int64(size)))")
        }
        let beginning = text.prefix(Self.shortLength) + "…"
        return ValueView(size <= Self.openedBytes ? .long(String(beginning), whole: text) : .text(String(beginning)))
    }

    /// Up to six fraction digits, a precision of about 0.1 m.
    private static func degrees(_ number: Double) -> String {
        var text = Digits.fixed(number, 6)
        while text.hasSuffix("0"), !text.hasSuffix(".0") { text.removeLast() }
        return text
    }
}

// MARK: - View

/// A value in its display format.
package struct ValueView: ViewModel {
    package enum Form: Sendable {
        case missing
        case text(String)
        /// The beginning of a text, and the whole text.
        case long(String, whole: String)
        case code(String)
        case number(String)
        case time(Timestamp)
        case link(String, href: String, hint: String?)
        /// A record with a title.
        case record(title: String, name: String, href: String, hint: String?)
        /// A file: its name, download address and size.
        case asset(String, href: String, size: String)
        /// Code with a button that copies it.
        case copyable(String)
        /// A token with the page that explains it, to copy.
        case token(String, href: String)
        case strong(String)
        case styled(Inline, style: String, hint: String?)
        case action(Frame.Link)
        case part(any Component)
        /// The address of this server, which a script replaces by the one that the browser knows: behind a proxy, it
        /// may be another one.
        case origin(String)
        /// The first values of a list, those that are seen when it is opened, and the number of further ones.
        case list([ValueView], folded: [ValueView], more: Int)
    }

    let form: Form
    /// A remark after the value, in a muted style.
    let note: String?

    package init(_ form: Form, note: String? = nil) {
        self.form = form
        self.note = note
    }

    package static let missing = ValueView(.missing)
    /// No value in a table with a style for empty cells, without an element of its own.
    package static let blank = ValueView(.text(""))

    package func child(named name: String) -> Any? {
        switch (name, form) {
        case ("template", _): template
        case ("text", .text(let text)), ("text", .code(let text)), ("text", .number(let text)),
            ("text", .link(let text, _, _)), ("text", .copyable(let text)), ("text", .strong(let text)),
            ("text", .token(let text, _)), ("text", .origin(let text)):
            text
        case ("text", .record(_, let name, _, _)): name
        case ("title", .record(let title, _, _, _)): title
        case ("text", .long(let beginning, _)): beginning
        case ("whole", .long(_, let whole)): whole
        case ("iso", .time(let timestamp)): timestamp.isoText
        case ("utc", .time(let timestamp)): timestamp.utcText
        case ("href", .link(_, let href, _)), ("href", .record(_, _, let href, _)): href
        case ("text", .asset(let name, _, _)): name
        case ("href", .asset(_, let href, _)), ("href", .token(_, let href)): href
        case ("size", .asset(_, _, let size)): size
        case ("hint", .link(_, _, let hint)), ("hint", .record(_, _, _, let hint)): hint ?? Absent()
        case ("style", .styled(_, let style, _)): style
        case ("hint", .styled(_, _, let hint)): hint ?? Absent()
        case ("spans", .styled(let content, _, _)): content.spans
        case ("action", .action(let link)): link
        case ("part", .part(let part)): part
        case ("items", .list(let items, _, _)): items
        case ("folded", .list(_, let folded, _)): folded
        case ("left", .list(_, let folded, _)): folded.isEmpty ? Absent() : Digits.grouped(folded.count)
        case ("isEmpty", .list(let items, _, _)): items.isEmpty
        case ("more", .list(_, _, let more)): more == 0 ? Absent() : Digits.grouped(more)
        case ("note", _): note ?? Absent()
        case ("isNumber", .number): true
        case ("isNumber", _): false
        default: nil
        }
    }

    /// The template of the format. Separate templates are faster in large tables than one template for all formats.
    private var template: String {
        switch form {
        case .missing: "value_missing"
        case .text, .number: "value_text"
        case .long: "value_long"
        case .code: "value_code"
        case .time: "value_time"
        case .link: "value_link"
        case .record: "value_record"
        case .asset: "value_asset"
        case .list: "value_list"
        case .copyable: "value_copyable"
        case .token: "value_token"
        case .strong: "value_strong"
        case .styled: "value_styled"
        case .action: "value_action"
        case .part: "value_part"
        case .origin: "value_origin"
        }
    }
}

/// A value in a table of records, with the title of its column for phones, where rows are cards.
package struct TableValue: ViewModel {
    /// Rows of more columns would be too long as cards: such tables scroll. The style sheet has the same number.
    package static let cardLimit = 16

    let value: ValueView
    /// `nil` where rows do not become cards.
    let heading: String?

    /// The values of a row, with their headings.
    /// - Parameter headings: those of all columns, also of the first one, which names the row.
    package static func row(_ values: [ValueView], _ headings: [String]) -> [TableValue] {
        let areCards = headings.count <= cardLimit
        return zip(values, headings.dropFirst()).map { TableValue(value: $0, heading: areCards ? $1 : nil) }
    }

    package func child(named name: String) -> Any? {
        switch name {
        case "heading": heading ?? Absent()
        default: value.child(named: name)
        }
    }
}

// MARK: - Assets

extension Asset {
    /// The display name of the file: its original name, made safe, or else the name of the field.
    package func shownName(in field: Name) -> String {
        AssetFileName.safe(fileName ?? field.string)
    }
}

// MARK: - JSON

/// A record in the JSON format of the web services, indented for readers.
package enum RecordJSON {
    /// - Parameter links: creates the download links of its assets; `nil` for none.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    package static func text(of record: StoredRecord, links: AssetLinks?) throws -> String {
        var writer = JSONWriter()
        try writer.value(record, downloadURL: links.map { links in { links.downloadURL(of: $0, in: $1) } })
        do {
            return try laidOut(JSONReader.value(of: writer.bytes))
        } catch {
            throw RecordError(.internalError, "The stored fields can't be read: \(error)")
        }
    }

    /// Indents by two spaces per level. Values that fit on one line stay on it.
    package static func laidOut(_ value: JSONValue, indentation: String = "") -> String {
        let line = String(decoding: JSONWriter.bytes(of: value), as: UTF8.self)
        let inner = indentation + "  "
        switch value {
        case .object(let object) where !object.isEmpty && (line.utf8.count > 72 || indentation.isEmpty):
            let members = object.map { member in
                "\(inner)\(quoted(member.name.string)): \(laidOut(member.value, indentation: inner))"
            }
            return "{\n" + members.joined(separator: ",\n") + "\n\(indentation)}"
        case .array(let elements) where !elements.isEmpty && line.utf8.count > 72:
            return "[\n" + elements.map { inner + laidOut($0, indentation: inner) }.joined(separator: ",\n")
                + "\n\(indentation)]"
        case .object(let object):
            if object.isEmpty { return "{}" }
            return "{ "
                + object.map { "\(quoted($0.name.string)): \(laidOut($0.value, indentation: inner))" }.joined(
                    separator: ", ") + " }"
        case .array(let elements):
            return "[" + elements.map { laidOut($0, indentation: inner) }.joined(separator: ", ") + "]"
        default: return line
        }
    }

    private static func quoted(_ text: String) -> String {
        String(decoding: JSONWriter.bytes(of: .string(text)), as: UTF8.self)
    }
}
