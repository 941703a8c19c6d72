package import Console
internal import HTTPServing
internal import HTTPTypes
package import Hummingbird
internal import RecordStore
internal import Records

/// The page Schema file: the schema in CloudKit's schema language, and the form that imports another one.
package enum SchemaView {
    package static func load(_ visit: Visit) async throws -> ComponentPage {
        let (schema, place) = (try schema(visit), visit.place)
        let hasComposites = schema.types.values.contains { !$0.compositeIndexes.isEmpty }
        let download = Frame.Link(
            text: "Download the .ckdb file", href: place.link("schema/export"), style: "button", isDownload: true)
        var parts: [any Component] = []
        if let works = try await visit.indexWorks().panel { parts.append(Note(works, "Work on indexes")) }
        if visit.canEditSchema {
            let text = Paragraph(
                "Development gets the file's schema. Types and fields that the file does not have are deleted with their data. A preview comes first."
            )
            parts.append(Section("import", "Import", [text, Form.schemaFile(visit)]))
        } else {
            parts.append(
                EmptyState(
                    sentence:
                        "The production schema comes only from development: \(.link("deploy", place.link("deploy"))) it."
                ))
        }
        parts.append(Section("export", "Export", [CodeBlock("The schema", Inline(schema.text), style: "whole")]))
        return ComponentPage(
            .schema,
            PageHead(
                Tab.schema.title,
                [
                    "The schema in CloudKit's schema language, in the format of Apple's tools. A file that you import and export again stays the same to the byte.\(hasComposites ? " It has no composite indexes, which belong to Skylight." : "")"
                ], actions: [download]), parts,
            foot: PageFooter(count: Digits.count(visit.ownTypes.count, "record type")))
    }

    /// The schema file, `iCloud.com.example.App-development.ckdb`.
    package static func export(_ visit: Visit) throws -> Response {
        var response = Response.content(try schema(visit).text.utf8, type: "text/plain; charset=utf-8")
        // Container names are letters, digits, dots and hyphens, so the file name needs no escaping.
        response.headers[.contentDisposition] = "attachment; filename=\"\(fileName(visit))\""
        return response
    }

    private static func fileName(_ visit: Visit) -> String {
        "\(visit.place.address.container)-\(visit.place.address.environment.rawValue).ckdb"
    }

    private static func schema(_ visit: Visit) throws -> Schema {
        guard let schema = visit.schema else { throw visit.database.unable(.showSchema) }
        return schema
    }
}

// MARK: - Form

extension Form {
    /// The form for a schema file, as text or upload.
    fileprivate static func schemaFile(_ visit: Visit, text: String = "", isMerging: Bool = false) -> Form {
        let size = Digits.bytes(Int64(SchemaText.serverLimit))
        return Form(
            .grid, visit.place.link("schema/import"),
            [
                FormField(
                    .area(rows: 10), "text", "A schema in the schema language", value: text,
                    placeholder: "DEFINE SCHEMA …"),
                FormField(
                    .file(accepts: ".ckdb,.txt,text/plain"), "file", "or a file",
                    hint: "up to \(size); a file takes precedence over the text"),
                FormField(.tick(isOn: isMerging), "merge", "Only add what is missing in development"),
            ], button: "Preview", buttonStyle: text.isEmpty ? "go" : nil)
    }
}

extension FormLimit {
    /// The text of a schema file, or such a file, and a text beside it.
    package static let schemaFile = texts(of: SchemaText.serverLimit)
}

// MARK: - Import

/// A dry run of a schema import, and the button that applies it.
package enum ImportView {
    /// Plans the import of the submitted text.
    package static func plan(_ visit: Visit) async throws -> Answer {
        try check(visit)
        do {
            try SchemaText.checkSize(of: Reading.sentText(visit))
        } catch let error as RecordError {
            // Text above the size limit is not sent back to the form.
            return .page(preview(of: Reading(), complaint: error, visit))
        }
        return .page(try await page(try await Reading(visit), visit))
    }

    /// Applies the plan on the page. If its effect has changed since, shows the new plan.
    package static func apply(_ visit: Visit) async throws -> Answer {
        try check(visit)
        let reading = try await Reading(visit)
        guard let plan = reading.plan else { return .page(try await page(reading, visit)) }
        guard Name(reading.fingerprint) == Name(visit.fields["fingerprint"] ?? "") else {
            return .page(try await page(reading, isStale: true, visit))
        }
        if !plan.difference.losses.isEmpty, visit.fields["accept"] == nil {
            let error = RecordError(
                .badRequest,
                "Nothing was imported: the import would delete data. Confirm the deletion, and import again")
            return .page(try await page(reading, complaint: error, visit))
        }
        do {
            if !plan.isEmpty {
                let editing = try await visit.database(in: .development)
                _ = try await visit.measure {
                    try await editing.require(.editSchema).edit(
                        plan.edits, because: .schemaImport, waitingForIndexes: false)
                }
            }
        } catch let error as RecordError {
            return .page(try await page(reading, complaint: error, visit))
        }
        return .redirect(visit.place.link("schema", [Notice.schemaImported.parameter]))
    }

    private static func page(
        _ reading: Reading, isStale: Bool = false, complaint: RecordError? = nil, _ visit: Visit
    ) async throws -> ComponentPage {
        guard let plan = reading.plan else {
            return preview(of: reading, complaint: complaint ?? reading.refusal, visit)
        }
        let losses = try await visit.measure { try await plan.losses(measuredBy: visit.database) }
        return preview(of: reading, losses: losses, isStale: isStale, complaint: complaint, visit)
    }

    private static func preview(
        of reading: Reading, losses: [SchemaLoss] = [], isStale: Bool = false, complaint: RecordError?, _ visit: Visit
    ) -> ComponentPage {
        let back = visit.place.link("schema")
        let isMerging = visit.fields["merge"] != nil
        var parts: [any Component] = []
        if isStale {
            parts.append(
                Note(
                    stale: "Nothing was imported: the schema changed after the plan was shown.",
                    "This is the new plan."))
        }
        // Text above the size limit was not read.
        if !reading.read.errors.isEmpty, !reading.text.isEmpty || complaint == nil {
            let errors = reading.read.errors.map { error in
                Inline(error.message) + .part(CodeBlock(error.message, Inline(error.excerpt), style: "whole"))
            }
            parts.append(Note(bad: "The text is not a valid schema.", nil, [Listing(errors)]))
        }
        if let complaint { parts.append(Note(refusing: PageError(complaint))) }
        var count: String?
        if let plan = reading.plan, !plan.isEmpty {
            let changes = SchemaChangeList(
                plan.difference, plan.respellings, of: plan.target, before: "development now",
                after: "after the import")
            count = changes.count
            if !losses.isEmpty {
                let lines = losses.map { Inline($0.line) }
                parts.append(Note(bad: "The import deletes \(summary(of: losses)).", nil, [Listing(lines)]))
            }
            parts.append(changes)
            parts.append(confirmation(reading, losses, isMerging: isMerging, back: back, visit))
        } else if reading.plan != nil {
            parts.append(Note(good: "Nothing to import.", "Development already has this schema."))
        }
        let more = reading.read.moreNotes
        let notes =
            reading.read.notes.map { Inline($0.description) }
            + (more > 0 ? [Inline("… and \(Digits.grouped(more)) more")] : [])
        if !notes.isEmpty { parts.append(Section("notes", "Notes on the text", [Listing(notes)])) }
        parts.append(Section("again", "The text", [Form.schemaFile(visit, text: reading.text, isMerging: isMerging)]))
        let container = visit.place.address.container.description
        return ComponentPage(
            .schema,
            PageHead(
                "Import a schema file",
                ["This is a preview of the import into development. \(strong: container) is unchanged."],
                actions: [.button("Back", back)]), parts, foot: PageFooter(count: count))
    }

    private static func confirmation(
        _ reading: Reading, _ losses: [SchemaLoss], isMerging: Bool, back: String, _ visit: Visit
    ) -> Section {
        let accepted = FormField(
            .tick(isOn: false), "accept", "Delete for good: \(summary(of: losses))", isRequired: true)
        return Section(
            "confirm", "Import",
            [
                Form(
                    .line, visit.place.link("schema/apply"),
                    hidden: [
                        Frame.Hidden(name: "fingerprint", value: reading.fingerprint),
                        Frame.Hidden(name: "text", value: reading.text),
                    ] + (isMerging ? [Frame.Hidden(name: "merge", value: "1")] : []),
                    losses.isEmpty ? [] : [accepted], button: "Import",
                    buttonStyle: losses.isEmpty ? "go" : "go danger", links: [.button("Cancel", back)])
            ])
    }

    private static func summary(of losses: [SchemaLoss]) -> String {
        let types = losses.filter { if case .removeType = $0.change { true } else { false } }
        let fields = losses.count - types.count
        let filled = losses.count { $0.records != 0 } - types.count { $0.records != 0 }
        var parts: [String] = []
        if !types.isEmpty {
            let records = types.compactMap(\.records)
            let held = records.count < types.count ? "their records" : Digits.count(records.reduce(0, +), "record")
            parts.append("\(Digits.count(types.count, "type")) with \(held)")
        }
        if fields > 0 {
            let which =
                filled == fields
                ? " with values" : filled == 0 ? " without values" : ", \(Digits.grouped(filled)) of them with values"
            parts.append(Digits.count(fields, "field") + which)
        }
        return parts.joined(separator: " and ")
    }

    private static func check(_ visit: Visit) throws {
        guard visit.place.address.environment == .development else {
            throw RecordError(
                .accessDenied, "Schema files are imported only into development; import there, then deploy")
        }
    }
}

/// A submitted text, parsed once, and the plan of its import.
private struct Reading: Sendable {
    var text = ""
    var read = SchemaText("")
    /// `nil` if the text is not a valid schema, or can't be imported.
    var plan: SchemaImportPlan?
    /// The reason why it can't be imported.
    var refusal: RecordError?
    /// A hash of the current schema and the planned one.
    var fingerprint = ""

    init() {}

    init(_ visit: Visit) async throws {
        let text = Self.sentText(visit)
        let isMerging = visit.fields["merge"] != nil
        let current = try await visit.schema(of: .development)
        let production = try await visit.schema(of: .production)
        self = try await WorkPool.prompt.run(on: text.utf8.count) {
            var reading = Reading()
            reading.text = text
            reading.read = SchemaText(text)
            // The parse result already contains the errors, with their lines.
            guard let file = try? reading.read.schema() else { return reading }
            do {
                let plan = try SchemaImportPlan(
                    importing: file, into: current, merging: isMerging, production: production)
                reading.plan = plan
                reading.fingerprint = SchemaFingerprint.text(from: current, to: plan.target)
            } catch let error as RecordError {
                reading.refusal = error
            }
            return reading
        }
    }

    /// The chosen file, or else the text. Browsers change the line ends of text, which the parser ignores.
    static func sentText(_ visit: Visit) -> String {
        let text = visit.fields.text("file") ?? visit.fields["text"] ?? ""
        return text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
    }
}
