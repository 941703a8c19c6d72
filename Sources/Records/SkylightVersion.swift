/// The version of Skylight, defined only here. `CHANGELOG.md` begins with it and explains what a version promises.
public enum SkylightVersion {
    /// Major, minor and patch version, as in semantic versioning.
    public static let current = "1.0.0"
    /// The `User-Agent` of requests to CloudKit Web Services and to other Skylight servers, also from apps that use
    /// RemoteRecords.
    public static let userAgent = "Skylight/\(current)"
}
