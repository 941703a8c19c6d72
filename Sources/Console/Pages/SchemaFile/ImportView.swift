internal import JSON
internal import RecordStore
internal import Records

/// What importing a schema file would do, and the button that does it.
struct ImportView: Page {
    static let template = "import"
    static let tab = Tab.schema

    /// A place in the text, and what is wrong or worth a word there.
    struct Remark: ViewModel {
        let message: String
        /// The line and a caret below it.
        let excerpt: String?
    }

    let title = "Import"
    let container: String
    let form: SchemaFileForm
    /// Why the text is no schema.
    let errors: [Remark]
    let notes: [Remark]
    let complaint: Complaint?
    /// Said when something changed between the plan that was confirmed and the click.
    let isStale: Bool
    /// `nil` when there is nothing to do, or no plan.
    let changes: SchemaChangeList?
    let isNothing: Bool
    let losses: [String]
    /// `2 types with 290 records, and 14 fields with values`
    let lossText: String?
    let fingerprint: String
    let apply: String
    let back: String
    let milliseconds: String
}

extension ImportView {
    /// The plan for the text that was sent.
    static func plan(_ visit: Visit) async throws -> Answer {
        .page(try await load(visit, isStale: false))
    }

    /// Imports what was shown; when it would do something else by now, shows the plan as it is now.
    static func apply(_ visit: Visit) async throws -> Answer {
        let shown = Name(visit.fields["fingerprint"] ?? "")
        guard let plan = try? await plan(of: sentText(visit), visit: visit), Name(fingerprint(of: plan, visit)) == shown else {
            return .page(try await load(visit, isStale: true))
        }
        if !plan.difference.losses.isEmpty, visit.fields["accept"] == nil {
            throw RecordError(.badRequest, "The import would lose something. Tick that this is meant, and import again")
        }
        let editing = try await visit.schemaEditing(in: .development)
        _ = try await visit.measure { try await editing.edit(plan.edits, because: .schemaImport, waitingForIndexes: false) }
        return .redirect(visit.place.link("schema", [Notice.schemaImported.parameter]))
    }

    private static func load(_ visit: Visit, isStale: Bool) async throws -> ImportView {
        try check(visit)
        let text = sentText(visit)
        let isMerging = visit.fields["merge"] != nil
        let read = SchemaText(text)
        func page(_ plan: SchemaImportPlan? = nil, losses: [SchemaLoss] = [], complaint: RecordError? = nil) -> ImportView {
            return ImportView(
                container: visit.place.address.container.description, form: SchemaFileForm(visit, text: text, isMerging: isMerging),
                errors: read.errors.map { Remark(message: $0.message, excerpt: $0.excerpt) },
                notes: read.notes.map { Remark(message: $0.description, excerpt: nil) }, complaint: complaint.map { Complaint($0) }, isStale: isStale,
                changes: plan.flatMap { plan in
                    plan.isEmpty ? nil : SchemaChangeList(plan.difference, of: plan.target, before: "development now", after: "after the import")
                },
                isNothing: plan?.isEmpty ?? false, losses: losses.map(\.line),
                lossText: losses.isEmpty ? nil : summary(of: losses),
                fingerprint: plan.map { fingerprint(of: $0, visit) } ?? "", apply: visit.place.link("schema/apply"),
                back: visit.place.link("schema"), milliseconds: visit.stopwatch.elapsed.millisecondsText)
        }
        guard read.errors.isEmpty else { return page() }
        do {
            let plan = try await plan(of: text, visit: visit)
            let losses = try await visit.measure { try await plan.losses(measuredBy: visit.database as? any SchemaMeasuring) }
            return page(plan, losses: losses)
        } catch let error as RecordError {
            return page(complaint: error)
        }
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
        if fields > 0 { parts.append("\(Digits.count(fields, "field")), \(filled == 0 ? "none" : Digits.grouped(filled)) of them with values") }
        return parts.joined(separator: " and ")
    }

    private static func plan(of text: String, visit: Visit) async throws -> SchemaImportPlan {
        try check(visit)
        let file = try SchemaText(text).schema()
        let production = try await visit.schema(of: .production)
        return try SchemaImportPlan(
            importing: file, into: try await visit.schema(of: .development), merging: visit.fields["merge"] != nil, production: production)
    }

    private static func fingerprint(of plan: SchemaImportPlan, _ visit: Visit) -> String {
        SchemaFingerprint.text(from: visit.schema ?? Schema(), to: plan.target)
    }

    /// The file, or the text where none was chosen. Browsers end the lines of a text in their own way, which means nothing here.
    private static func sentText(_ visit: Visit) -> String {
        let text = visit.fields.text("file") ?? visit.fields["text"] ?? ""
        return text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
    }

    private static func check(_ visit: Visit) throws {
        guard visit.place.address.environment == .development else {
            throw RecordError(.accessDenied, "Schema files are imported into development, and deployed to production from there")
        }
    }
}
