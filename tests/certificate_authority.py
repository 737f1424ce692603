"""An authority for certificates, made with the openssl command, for tests."""
import subprocess

BEGIN, END = "20260101000000Z", "20360101000000Z" # NOW lies between them
NOW = "2026-11-30T12:00:00Z"
KEYS = {"P-256": ("EC", "ec_paramgen_curve:P-256"), "P-384": ("EC", "ec_paramgen_curve:P-384"),
        "P-521": ("EC", "ec_paramgen_curve:P-521"), "RSA-2048": ("RSA", "rsa_keygen_bits:2048"),
        "RSA-1024": ("RSA", "rsa_keygen_bits:1024")}
CA = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n"


def openssl(*arguments, data=None):
    """What an openssl command prints."""
    said = subprocess.run(["openssl", *arguments], input=data, text=True, capture_output=True, timeout=60)
    assert said.returncode == 0, said.stderr
    return said.stdout


class Authority:
    """A root and an issuer below it, in a folder."""

    def __init__(self, folder):
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.file("index", "")
        self.file("ca.cnf", "[ca]\ndefault_ca=this\n[this]\ndatabase=%s\nnew_certs_dir=%s\nrand_serial=yes\n"
                  "default_md=sha256\ncopy_extensions=copy\nunique_subject=no\npolicy=any\n[any]\ncommonName=supplied\n"
                  % (self.path("index"), folder))
        self.new_key("root")
        self.root = self.sign(self.request("root", "/CN=Test Root"), CA, by=None)
        self.file("root.crt", self.root)
        self.new_key("issuer")
        self.issuer = self.sign(self.request("issuer", "/CN=Test Issuer"), CA, by="root")
        self.file("issuer.crt", self.issuer)

    def path(self, name):
        return str(self.folder / name)

    def file(self, name, text):
        (self.folder / name).write_text(text)
        return self.path(name)

    def new_key(self, name, kind="P-256"):
        """Makes NAME.key; returns its PEM (PKCS #8)."""
        algorithm, option = KEYS[kind]
        return self.file(name + ".key", openssl("genpkey", "-algorithm", algorithm, "-pkeyopt", option))

    def key(self, name):
        return (self.folder / (name + ".key")).read_text()

    def request(self, name, subject="/CN=r1", *more):
        """A request for a certificate with NAME.key."""
        return openssl("req", "-new", "-key", self.path(name + ".key"), "-subj", subject, *more)

    def sign(self, request, extensions="", by="issuer", begin=BEGIN, end=END):
        """The certificate for a request, with the names that it asks for. by None: signed by the root's own key."""
        self.file("request.csr", request)
        self.file("extensions", extensions)
        signer = ["-cert", self.path(by + ".crt")] if by else ["-selfsign"]
        return openssl("ca", "-config", self.path("ca.cnf"), "-batch", "-notext", "-in", self.path("request.csr"),
                       "-extfile", self.path("extensions"), "-startdate", begin, "-enddate", end, *signer,
                       "-keyfile", self.path((by or "root") + ".key"))

    @staticmethod
    def fingerprint(certificate):
        """As the machine prints it."""
        return openssl("x509", "-noout", "-fingerprint", "-sha256", data=certificate).strip().partition("=")[2]
