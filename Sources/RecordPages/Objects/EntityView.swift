internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The objects of one entity in a table, page by page. Its address is that of a query, so that it has the query's filters, sorts and index rules.
struct EntityView: Page {
    static let template = "objects_entity"
    static let tab = Tab.objects

    let title: String
    let entity: String
    /// The condition of a relationship, such as `whose journal is J1`.
    let condition: String?
    /// The object that the relationship leads to.
    let target: String?
    let entities: String
    /// The same records on the page Query.
    let records: String
    let table: ObjectTable?
    let refusal: QueryRefusal?
    let complaint: Complaint?
    let isEmpty: Bool
    let count: String
    let pageNumber: String?
    let first: String?
    let previous: String?
    let next: String?
    let milliseconds: String

    static func load(_ visit: Visit) async throws -> EntityView {
        let form = QueryForm(visit.fields)
        guard let typeName = form.type, MirroredNaming.isEntityType(typeName) else {
            throw RecordError(.badRequest, "The address of a table of objects needs a record type of Core Data, such as type=CD_Entry")
        }
        let known = visit.schema?.types[typeName]
        let type = known ?? RecordType(name: typeName)
        let plan = QueryPlan(form, of: type)
        if let problem = plan.firstProblem { throw RecordError(.badRequest, problem) }
        func link(_ form: QueryForm) -> String { visit.place.link("objects/entity", form.parameters) }
        let entity = form.entity ?? MirroredNaming.rootEntity(of: typeName) ?? typeName.string
        let target = visit.place.zoneID.flatMap { zoneID in
            ObjectTargets.mayBeRecordName(form.condition.map { .string($0.value) }).map { visit.place.link(toObject: RecordID(recordName: $0, zoneID: zoneID)) }
        }
        func view(
            _ answer: QueryPage? = nil, table: ObjectTable? = nil, refusal: QueryRefusal? = nil, complaint: Complaint? = nil
        ) -> EntityView {
            EntityView(
                title: "Objects · \(entity)", entity: entity, condition: form.condition.map { "whose \($0.property) is \($0.value)" }, target: target,
                entities: visit.place.link("objects"), records: visit.place.link("query", form.parameters), table: table, refusal: refusal,
                complaint: complaint, isEmpty: answer?.records.isEmpty ?? false, count: answer.map { Digits.count($0.records.count, "object") } ?? "Not run",
                pageNumber: form.page > 1 || answer?.continuationMarker != nil ? "page \(Digits.grouped(form.page))" : nil,
                first: form.page > 2 ? link(form.changed { _ in }) : nil, previous: form.previousPage.map(link),
                next: answer?.continuationMarker.map { link(form.nextPage($0)) }, milliseconds: visit.stopwatch.elapsed.millisecondsText)
        }
        let works = try await visit.indexWorks()
        let problems = visit.schema.map { IndexRules.problems(of: plan.query, in: $0, building: works.builds) } ?? []
        if !problems.isEmpty {
            return view(
                refusal: QueryRefusal(
                    problems, plan: plan, form: form, type: known, works: works, back: link(form), answers: "objects/entity", visit: visit))
        }
        do {
            let request = QueryRequest(
                plan.query, in: visit.queryArea, limit: PageLimit(records: form.limit), continuationMarker: form.markers.last)
            let answer = try await visit.measure { try await visit.database.query(request) }
            if answer.records.isEmpty { return view(answer) }
            return view(
                answer,
                table: try await ObjectTable(answer.records, of: type, caption: "Objects of \(entity)", form: form, visit: visit, page: link))
        } catch let error as RecordError {
            return view(complaint: Complaint(error))
        }
    }
}

extension QueryForm {
    /// The entity that a filter names.
    fileprivate var entity: String? {
        filters.first { $0.field == MirroredNaming.entityField && $0.comparator == .equals && !$0.isUnfinished }.map { FilterValueReader.alone($0.value, of: nil) }
    }

    /// The property that another filter names, and its value.
    fileprivate var condition: (property: String, value: String)? {
        for filter in filters where filter.comparator == .equals && !filter.isUnfinished {
            if let property = MirroredNaming.property(of: filter.field) { return (property, FilterValueReader.alone(filter.value, of: nil)) }
        }
        return nil
    }
}
