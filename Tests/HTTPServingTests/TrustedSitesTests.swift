import HTTPServing
import Testing

/// The host names of a server.
@Suite struct TrustedSitesTests {
    private static let addresses = ["127.0.0.1", "192.168.1.5", "::1", "fe80::1%eth0", "2001:db8::7"]

    private func sites(_ hostname: String, hosts: [String] = [], origins: [String] = []) -> TrustedSites {
        TrustedSites(
            listeningOn: hostname, hosts: hosts, origins: origins, addresses: Self.addresses, machineName: "box.example"
        )
    }

    @Test(arguments: [
        "localhost:8080", "127.0.0.1", "192.168.1.5:8080", "[2001:db8::7]:8080", "[fe80::1]", "box.example",
        "BOX.example:1", "box", "box.local:8080", "other.example:8080",
    ])
    func allOfTheMachineAnswersToItsOwnNames(host: String) {
        for wildcard in ["0.0.0.0", "::", "[::]"] {
            #expect(sites(wildcard, hosts: ["other.example"]).trusts(authority: host), "\(wildcard)")
        }
    }

    @Test(arguments: [
        "192.168.1.6", "evil.example", "box.example.evil.example", "0.0.0.0", "localbox", "[2001:db8::8]",
        "192.168.1.5.evil.example", "",
    ])
    func andToNoOthers(host: String) {
        #expect(!sites("0.0.0.0").trusts(authority: host))
    }

    @Test func oneAddressIsNotAllOfThem() {
        #expect(sites("192.168.1.5").trusts(authority: "192.168.1.5:80"))
        #expect(sites("box.example").trusts(authority: "box.example:8080"))
        #expect(sites("2001:db8::7").trusts(authority: "[2001:db8::7]:80"))
        #expect(!sites("192.168.1.5").trusts(authority: "box.example"))
        #expect(!sites("192.168.1.5").trusts(authority: "[2001:db8::7]"))
        // No foreign name can point to localhost.
        #expect(sites("192.168.1.5").trusts(authority: "localhost"))
    }

    @Test func sitesThatMayCall() {
        let sites = sites("0.0.0.0", origins: ["https://App.example.com"])
        #expect(sites.trusts(origin: "https://app.example.com") && sites.trusts(origin: "http://192.168.1.5:3000"))
        #expect(
            !sites.trusts(origin: "http://app.example.com") && !sites.trusts(origin: "https://app.example.com:444")
                && !sites.trusts(origin: "null"))
    }

    @Test func theMachineHasAnAddress() {
        #expect(TrustedSites.machineAddresses().contains("127.0.0.1"))
        #expect(TrustedSites(listeningOn: "0.0.0.0").trusts(authority: "127.0.0.1"))
    }

    @Test func formsOfHostsAndSites() {
        for host in ["skylight.local", "skylight.local:8080", "192.168.1.5", "[::1]:80"] {
            #expect(TrustedSites.isHost(host))
        }
        for host in ["", "http://a", "a b", "a:0", "a:99999", "a/b", "*"] { #expect(!TrustedSites.isHost(host)) }
        for origin in ["https://app.example.com", "http://localhost:3000", "HTTP://A.example"] {
            #expect(TrustedSites.isOrigin(origin))
        }
        for origin in ["app.example.com", "https://", "https://a/", "https://a/b", "ftp://a", "null", "*"] {
            #expect(!TrustedSites.isOrigin(origin))
        }
        #expect(
            TrustedSites.asHost("fe80::1%eth0") == "[fe80::1]" && TrustedSites.asHost("[::1]") == "[::1]"
                && TrustedSites.asHost("box") == "box")
    }
}
