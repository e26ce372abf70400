# make install [PREFIX=/usr/local] [DESTDIR=], make uninstall. Building is cargo's job.
PREFIX ?= /usr/local
DESTDIR ?=
CARGO ?= cargo
CARGO_TARGET_DIR ?= target

bin := $(DESTDIR)$(PREFIX)/bin
share := $(DESTDIR)$(PREFIX)/share
binary := $(CARGO_TARGET_DIR)/release/cowbox

# What is installed, each file where its shell or `man` looks for it.
completions := $(share)/bash-completion/completions/cowbox $(share)/zsh/site-functions/_cowbox \
	$(share)/fish/vendor_completions.d/cowbox.fish
pages := $(foreach page,$(notdir $(wildcard man/*)),$(share)/man/man$(subst .,,$(suffix $(page)))/$(page))

.PHONY: all build install uninstall
all: build

build:
	$(CARGO) build --release --locked

# Without building, where there is a binary already: `sudo make install` needs no compiler.
$(binary):
	$(CARGO) build --release --locked

install: $(binary)
	install -D -m 755 $(binary) "$(bin)/cowbox"
	install -D -m 644 completions/cowbox.bash "$(share)/bash-completion/completions/cowbox"
	install -D -m 644 completions/_cowbox "$(share)/zsh/site-functions/_cowbox"
	install -D -m 644 completions/cowbox.fish "$(share)/fish/vendor_completions.d/cowbox.fish"
	for page in man/*; do install -D -m 644 "$$page" "$(share)/man/man$${page##*.}/$${page##*/}" || exit 1; done

uninstall:
	rm -f "$(bin)/cowbox" $(foreach file,$(completions) $(pages),"$(file)")
