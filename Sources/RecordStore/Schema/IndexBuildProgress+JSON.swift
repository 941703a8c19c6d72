public import JSON
internal import Records

extension JSONWriter {
    /// Writes the progress of background index work (docs/services.md).
    public mutating func value(_ build: IndexBuildProgress) {
        object { writer in
            writer.member("work", build.work.rawValue)
            writer.member("recordType", build.recordType)
            switch build.subject {
            case .field(let key, let indexes):
                writer.member("field", key.schemaName)
                writer.name("indexes")
                writer.value(indexes)
            case .composite(let index):
                writer.name("compositeIndex")
                writer.value(index)
            }
            writer.member("done", Int64(build.done))
            writer.member("total", Int64(build.total))
            writer.member("percent", Int64(build.percent))
        }
    }
}
