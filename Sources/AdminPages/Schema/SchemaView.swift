package import Console
internal import HTTPServing
internal import HTTPTypes
package import Hummingbird
internal import RecordStore
internal import Records

/// The page Schema file: the schema in CloudKit's schema language, and the form that imports another one.
package struct SchemaView: Page {
    package static let template = "schema"
    package static let tab = Tab.schema

    package let title = Self.tab.title
    let text: String
    let fileName: String
    let export: String
    /// `nil` in production, whose schema comes from deployments only.
    let form: SchemaFileForm?
    let deploy: String
    let works: IndexWorkPanel?
    let hasComposites: Bool
    let count: String

    package static func load(_ visit: Visit) async throws -> SchemaView {
        let schema = try schema(visit)
        return SchemaView(
            text: schema.text, fileName: fileName(visit),
            export: visit.place.link("schema/export"),
            form: visit.canEditSchema ? SchemaFileForm(visit) : nil, deploy: visit.place.link("deploy"),
            works: try await visit.indexWorks().panel,
            hasComposites: schema.types.values.contains { !$0.compositeIndexes.isEmpty },
            count: Digits.count(visit.ownTypes.count, "record type"))
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

/// The form for a schema file, as text or upload.
struct SchemaFileForm: ViewModel {
    let action: String
    let text: String
    let isMerging: Bool
    let sizeLimit: String

    init(_ visit: Visit, text: String = "", isMerging: Bool = false) {
        action = visit.place.link("schema/import")
        self.text = text
        self.isMerging = isMerging
        sizeLimit = Digits.bytes(Int64(SchemaText.serverLimit))
    }
}

extension FormLimit {
    /// The text of a schema file, or such a file, and a text beside it.
    package static let schemaFile = texts(of: SchemaText.serverLimit)
}

// MARK: - Import

/// A dry run of a schema import, and the button that applies it.
package struct ImportView: Page {
    package static let template = "import"
    package static let tab = Tab.schema

    /// A position in the text, with an error or a remark.
    struct Remark: ViewModel {
        let message: String
        /// The line, with a caret below it.
        let excerpt: String?
    }

    package let title = "Import a schema file"
    let container: String
    let form: SchemaFileForm
    /// The syntax errors of the text.
    let errors: [Remark]
    let notes: [Remark]
    let complaint: PageError?
    /// True if the plan changed between the preview and the confirmation.
    let isStale: Bool
    /// `nil` if there is nothing to do, or no plan.
    let changes: SchemaChangeList?
    let isNothing: Bool
    let losses: [String]
    /// `2 types with 290 records and 14 fields, 3 of them with values`
    let lossText: String?
    let fingerprint: String
    let apply: String
    let back: String
}

extension ImportView {
    /// Plans the import of the submitted text.
    package static func plan(_ visit: Visit) async throws -> Answer {
        try check(visit)
        do {
            try SchemaText.checkSize(of: Reading.sentText(visit))
        } catch let error as RecordError {
            // Text above the size limit is not sent back to the form.
            return .page(ImportView(Reading(), complaint: error, visit))
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
    ) async throws -> ImportView {
        guard let plan = reading.plan else {
            return ImportView(reading, complaint: complaint ?? reading.refusal, visit)
        }
        let losses = try await visit.measure { try await plan.losses(measuredBy: visit.database) }
        return ImportView(reading, losses: losses, isStale: isStale, complaint: complaint, visit)
    }

    private init(
        _ reading: Reading, losses: [SchemaLoss] = [], isStale: Bool = false, complaint: RecordError?, _ visit: Visit
    ) {
        let more = reading.read.moreNotes
        self.init(
            container: visit.place.address.container.description,
            form: SchemaFileForm(visit, text: reading.text, isMerging: visit.fields["merge"] != nil),
            errors: (reading.text.isEmpty && complaint != nil ? [] : reading.read.errors).map {
                Remark(message: $0.message, excerpt: $0.excerpt)
            },
            notes: reading.read.notes.map { Remark(message: $0.description, excerpt: nil) }
                + (more > 0 ? [Remark(message: "… and \(Digits.grouped(more)) more", excerpt: nil)] : []),
            complaint: complaint.map { PageError($0) }, isStale: isStale,
            changes: reading.plan.flatMap { plan in
                plan.isEmpty
                    ? nil
                    : SchemaChangeList(
                        plan.difference, plan.respellings, of: plan.target, before: "development now",
                        after: "after the import")
            },
            isNothing: reading.plan?.isEmpty ?? false, losses: losses.map(\.line),
            lossText: losses.isEmpty ? nil : Self.summary(of: losses),
            fingerprint: reading.fingerprint, apply: visit.place.link("schema/apply"), back: visit.place.link("schema"))
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
